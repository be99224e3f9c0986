#include "tests/random/make_program.h"

#include <numeric>

namespace tfvm::testing {

namespace {
using Shape = std::vector<std::int64_t>;
}

TypeId ProgramMaker::float_type() {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(below(3)));
  for (std::int64_t& d : dims) d = 1 + below(3);
  return t_.types.tensor(DType::F64, dims);
}

std::vector<TypeId> ProgramMaker::float_types(std::size_t n) {
  std::vector<TypeId> out;
  for (std::size_t k = 0; k < n; ++k) out.push_back(float_type());
  return out;
}

std::vector<TypeId> ProgramMaker::types_of(const Scope& s, std::span<const ValueId> values) const {
  std::vector<TypeId> out;
  for (ValueId v : values) out.push_back(s.b.type(v));
  return out;
}

ValueId ProgramMaker::pick(Scope& s, DType dtype) {
  std::vector<ValueId> fit;
  for (ValueId v : s.values)
    if (s.b.dtype(v) == dtype) fit.push_back(v);
  if (!fit.empty()) return fit[rng_() % fit.size()];
  if (dtype == DType::F64) return s.b.scalar(DType::F64, 0.25 + 0.5 * below(3));
  return s.b.scalar_int(dtype, below(dtype == DType::Bool ? 2 : 3));
}

ValueId ProgramMaker::as_type(Scope& s, TypeId type) {
  Builder& b = s.b;
  const DType d = t_.types.dtype(type);
  ValueId v = pick(s, d);
  if (b.type(v) == type) return v;
  if (b.rank(v) > 0) {
    if (d == DType::F64)
      v = b.emit(Op::reduce_sum, {v}, {{Key::axes, t_.attrs.none()}});
    else
      v = b.emit(d == DType::Bool ? Op::reduce_or : Op::reduce_max, {v}, {{Key::axes, t_.attrs.none()}});
  }
  if (d == DType::F64) v = b.emit(Op::tanh, {v});
  return t_.types.rank(type) ? b.emit(Op::broadcast_to, {v}, {{Key::shape, t_.types.dims(type)}}) : v;
}

std::vector<ValueId> ProgramMaker::args(Scope& s, std::span<const TypeId> types) {
  std::vector<ValueId> out;
  for (TypeId type : types) out.push_back(as_type(s, type));
  return out;
}

void ProgramMaker::unary(Scope& s) {
  static constexpr Op kSmooth[] = {Op::sin,    Op::cos,  Op::tanh, Op::logistic, Op::neg,
                                   Op::square, Op::atan, Op::erf,  Op::asinh};
  static constexpr Op kKinked[] = {Op::abs, Op::sign, Op::floor};
  const ValueId x = pick_float(s);
  if (options_.kinks && below(4) == 0) return push(s, s.b.emit(kKinked[below(3)], {x}));
  const int k = below(12);
  if (k < 9) return push(s, s.b.emit(kSmooth[k], {x}));
  const ValueId bounded = s.b.emit(Op::tanh, {x});
  if (k == 9) return push(s, s.b.emit(Op::exp, {bounded}));
  const ValueId positive = s.b.emit(Op::add, {s.b.emit(Op::square, {bounded}), s.b.scalar(DType::F64, 0.5)});
  push(s, s.b.emit(k == 10 ? Op::log : Op::sqrt, {positive}));
}

void ProgramMaker::binary(Scope& s) {
  static constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::atan2};
  const ValueId x = pick_float(s);
  ValueId y = pick_float(s);
  std::vector<std::int64_t> common;
  if (s.b.type(x) != s.b.type(y) && s.b.rank(y) != 0) y = as_type(s, s.b.type(x));
  const int k = below(options_.kinks ? 6 : 5);
  if (k < 3) return push(s, s.b.emit(kOps[k], {x, y}));
  if (k == 5) return push(s, s.b.emit(below(2) ? Op::max : Op::min, {x, y}));
  const ValueId away = s.b.emit(Op::add, {s.b.emit(Op::square, {y}), s.b.scalar(DType::F64, 1)});
  push(s, s.b.emit(k == 3 ? Op::atan2 : Op::div, {x, away}));
}

void ProgramMaker::compare(Scope& s) {
  const ValueId x = pick_float(s);
  const ValueId p = s.b.emit(Op::gt, {x, s.b.scalar(DType::F64, 0.1)});
  push(s, p);
  push(s, s.b.emit(Op::select, {p, s.b.emit(Op::sin, {x}), s.b.emit(Op::mul, {x, s.b.scalar(DType::F64, 0.5)})}));
  if (below(2)) push(s, s.b.emit(Op::reduce_or, {p}, {{Key::axes, t_.attrs.none()}}));
}

// Small integers: of others, and places of largest elements.
void ProgramMaker::integer(Scope& s) {
  Builder& b = s.b;
  const ValueId x = pick_float(s);
  if (b.rank(x) > 0 && b.dims(x)[0] > 0) push(s, b.emit(Op::argmax, {x}, {{Key::axis, 0}}));
  const ValueId i = as_type(s, t_.types.scalar(DType::I64));
  const ValueId next = b.emit(Op::add, {i, b.scalar_int(DType::I64, 1 + below(3))});
  push(s, b.emit(Op::rem, {next, b.scalar_int(DType::I64, 5)}));
  push(s, b.emit(Op::lt, {i, b.scalar_int(DType::I64, 2)}));
}

void ProgramMaker::shape_op(Scope& s) {
  Builder& b = s.b;
  const ValueId x = pick_float(s);
  const std::int64_t rank = b.rank(x);
  if (rank == 0) {
    const std::int64_t shape[] = {1 + below(3)};
    return push(s, b.emit(Op::broadcast_to, {x}, {{Key::shape, Ints(shape)}}));
  }
  const Dims d = b.dims(x);
  std::vector<std::int64_t> v(static_cast<std::size_t>(rank)), w(v), limit(d.begin(), d.end());
  switch (below(6)) {
    case 0:
      std::iota(v.rbegin(), v.rend(), 0);
      return push(s, b.emit(Op::transpose, {x}, {{Key::perm, Ints(v)}}));
    case 1: {
      const std::int64_t flat[] = {-1};
      return push(s, b.emit(Op::reshape, {x}, {{Key::shape, Ints(flat)}}));
    }
    case 2:
      return push(s, b.emit(Op::reverse, {x}, {{Key::axes, below(static_cast<int>(rank))}}));
    case 3:
      v[0] = d[0] > 1 ? below(2) : 0;
      return push(s, b.emit(Op::slice, {x}, {{Key::start, Ints(v)}, {Key::limit, Ints(limit)}}));
    case 4:
      v[0] = below(2);
      w[0] = below(2);
      return push(s, b.emit(Op::pad, {x, b.scalar(DType::F64, 0.5)}, {{Key::low, Ints(v)}, {Key::high, Ints(w)}}));
    default:
      return push(s, b.emit(Op::concat, {x, b.emit(Op::sin, {x})}, {{Key::axis, 0}}));
  }
}

void ProgramMaker::reduce(Scope& s) {
  const ValueId x = pick_float(s);
  if (s.b.rank(x) == 0) return unary(s);
  const int axis = below(static_cast<int>(s.b.rank(x)));
  if (below(3) == 0) return push(s, s.b.emit(Op::cumsum, {x}, {{Key::axis, axis}, {Key::reverse, below(2) == 0}}));
  push(s, s.b.emit(Op::reduce_sum, {x}, {{Key::axes, axis}, {Key::keepdims, below(2) == 0}}));
}

void ProgramMaker::dot(Scope& s) {
  const ValueId x = pick_float(s);
  if (s.b.rank(x) == 0) return binary(s);
  const ValueId y = as_type(s, s.b.type(x));
  const std::int64_t axis[] = {below(static_cast<int>(s.b.rank(x)))};
  const AttrId both[] = {t_.attrs.ints(axis), t_.attrs.ints(axis)};
  push(s, s.b.emit(Op::tanh, {s.b.emit(Op::dot_general, {x, y}, {{Key::contract, t_.attrs.list(both)}})}));
}

// A product in each of some lanes, of a matrix with one that all take or with one of its own, and what is made of them.
void ProgramMaker::small_dots(Scope& s) {
  Builder& b = s.b;
  const TypeId matrix = t_.types.tensor(DType::F64, Shape{1 + below(4), 1 + below(4)});
  const TypeId all =
      t_.types.tensor(DType::F64, Shape{8 + below(3), t_.types.dims(matrix)[0], t_.types.dims(matrix)[1]});
  const auto spread = [&](ValueId v) {
    const ValueId wide = b.emit(Op::broadcast_to, {v}, {{Key::shape, t_.types.dims(all)}});
    const ValueId i =
        b.emit(Op::iota, {}, {{Key::shape, t_.types.dims(all)}, {Key::axis, 0}, {Key::dtype, DType::F64}});
    return b.emit(Op::sin, {b.emit(Op::add, {wide, i})});
  };
  const ValueId x = spread(as_type(s, matrix)), y = as_type(s, matrix);
  const bool own = below(2) == 0;
  const std::int64_t lanes[] = {0}, last[] = {2}, second[] = {1};
  const AttrId batch[] = {t_.attrs.ints(lanes), t_.attrs.ints(lanes)};
  const AttrId of_batch[] = {t_.attrs.ints(last), t_.attrs.ints(last)};
  const AttrId of_one[] = {t_.attrs.ints(last), t_.attrs.ints(second)};
  ValueId r = own ? b.emit(Op::dot_general, {x, spread(y)},
                           {{Key::batch, t_.attrs.list(batch)}, {Key::contract, t_.attrs.list(of_batch)}})
                  : b.emit(Op::dot_general, {x, y}, {{Key::contract, t_.attrs.list(of_one)}});
  if (below(2) == 0) r = b.emit(Op::tanh, {b.emit(Op::concat, {r, b.emit(Op::sin, {r})}, {{Key::axis, 1 + below(2)}})});
  if (below(3) == 0)
    push(s, b.emit(Op::tanh, {b.emit(Op::reduce_sum, {r}, {{Key::axes, t_.attrs.ints(Shape{1, 2})}})}));
  push(s, b.emit(Op::tanh, {b.emit(Op::reduce_sum, {r}, {{Key::axes, t_.attrs.ints(Shape{0})}})}));
}

void ProgramMaker::index_op(Scope& s) {
  Builder& b = s.b;
  const ValueId x = pick_float(s);
  if (b.rank(x) == 0 || t_.types.elements(b.type(x)) == 0) return unary(s);
  const ValueId i = as_type(s, t_.types.scalar(DType::I64));
  const auto rank = static_cast<std::size_t>(b.rank(x));
  if (below(3) == 0) return push(s, b.emit(Op::take, {x, i}, {{Key::axis, 0}, {Key::mode, "clip"}}));
  std::vector<ValueId> operands{x};
  std::vector<std::int64_t> sizes(rank, 1);
  const bool update = below(2) == 0;
  if (update) operands.push_back(as_type(s, t_.types.tensor(DType::F64, sizes)));
  for (std::size_t k = 0; k < rank; ++k) operands.push_back(i);
  if (update) return push(s, b.emit(Op::dynamic_update_slice, operands, t_.attrs.empty()));
  push(s, b.emit(Op::dynamic_slice, operands, t_.attrs.dict({{Key::sizes, Ints(sizes)}})));
}

void ProgramMaker::step(Scope& s) {
  using Step = void (ProgramMaker::*)(Scope&);
  static constexpr Step kPlain[] = {&ProgramMaker::unary,   &ProgramMaker::unary,     &ProgramMaker::binary,
                                    &ProgramMaker::binary,  &ProgramMaker::compare,   &ProgramMaker::shape_op,
                                    &ProgramMaker::reduce,  &ProgramMaker::dot,       &ProgramMaker::index_op,
                                    &ProgramMaker::integer, &ProgramMaker::small_dots};
  static constexpr Step kControl[] = {&ProgramMaker::call, &ProgramMaker::branch, &ProgramMaker::scan,
                                      &ProgramMaker::scan};
  if (options_.control && s.depth > 0 && below(4) == 0) {
    if (options_.while_loops && below(3) == 0) return while_loop(s);
    return (this->*kControl[below(4)])(s);
  }
  (this->*kPlain[below(11)])(s);
}

FunctionId ProgramMaker::make(std::span<const TypeId> params, std::span<const TypeId> results, int depth) {
  Builder b(t_, build_, "random");
  Scope s{b, {}, depth};
  for (TypeId type : params) s.values.push_back(b.param(type));
  for (int k = 0; k < options_.instrs && !b.failed(); ++k) step(s);
  if (options_.nested_while && depth > 0) {  // results come from the loop alone
    const auto before = static_cast<std::ptrdiff_t>(s.values.size());
    while_loop(s);
    s.values.erase(s.values.begin(), s.values.begin() + before);
  }
  const Result<FunctionId> f = b.seal(args(s, results));
  return f ? *f : FunctionId{};
}

}  // namespace tfvm::testing
