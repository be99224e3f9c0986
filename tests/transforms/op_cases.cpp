#include <array>

#include "tests/transforms/op_maker.h"

namespace tfvm::testing {

using namespace letters;

namespace {

// Of the same size, for bitcast.
DType other_of_size(DType d) {
  static constexpr std::array<DType, kDTypes> kOther{DType::U8,  DType::U8,  DType::BF16, DType::F32, DType::F64,
                                                     DType::I8,  DType::F16, DType::F32,  DType::I64, DType::I16,
                                                     DType::U16, DType::I32, DType::I64,  DType::F64, DType::C128};
  return kOther[static_cast<std::size_t>(d)];
}

}  // namespace

void Maker::elementwise(Op op) {
  const auto operand = [&](const OperandSpec& s, D dims) { return s.group == 'P' ? p(dims) : x(dims); };
  const auto& specs = info(op).operands;
  for (const D& dims : {D{}, D{3}, D{2, 3}, D{0, 2}}) {
    std::vector<OpOperand> same, first, last;
    for (const OperandSpec& s : specs) same.push_back(operand(s, dims));
    if (op == Op::cast) {
      add(same, {{Key::dtype, DType::F32}});
      add(same, {{Key::dtype, DType::I16}});
    } else if (op == Op::bitcast) {
      add(same, {{Key::dtype, other_of_size(group)}});
    } else {
      add(same);
    }
    if (specs.size() < 2 || dims.empty()) continue;
    first = last = same;  // broadcasting from either side
    first[0].dims = {};
    last.back().dims = {1};
    add(first);
    add(last);
  }
}

void Maker::shape(Op op) {
  switch (op) {
    case Op::reshape:
      add({x({2, 3})}, {{Key::shape, Ints(D{3, 2})}});
      add({x({})}, {{Key::shape, Ints(D{1, 1})}});
      return add({x({0, 2})}, {{Key::shape, Ints(D{2, 0, 3})}});
    case Op::broadcast_to:
      add({x({3})}, {{Key::shape, Ints(D{2, 3})}});
      add({x({2, 1})}, {{Key::shape, Ints(D{4, 2, 3})}});
      return add({x({})}, {{Key::shape, Ints(D{2, 0})}});
    case Op::full:
      return add({x({})}, {{Key::shape, Ints(D{2, 3})}});
    case Op::transpose:
      add({x({2, 3})}, {{Key::perm, Ints(D{1, 0})}});
      add({x({2, 0, 3})}, {{Key::perm, Ints(D{2, 0, 1})}});
      return add({x({})}, {{Key::perm, Ints(D{})}});
    case Op::slice:
      add({x({5, 3})}, {{Key::start, Ints(D{1, 0})}, {Key::limit, Ints(D{5, 2})}, {Key::stride, Ints(D{2, 1})}});
      return add({x({3})}, {{Key::start, Ints(D{2})}, {Key::limit, Ints(D{2})}});
    case Op::pad:
      add({x({2, 3}), x({})}, {{Key::low, Ints(D{1, -1})}, {Key::high, Ints(D{0, 2})}, {Key::interior, Ints(D{2, 0})}});
      return add({x({0}), x({})}, {{Key::low, Ints(D{1})}, {Key::high, Ints(D{1})}});
    case Op::concat:
      add({x({2, 3}), x({1, 3}), x({0, 3})}, {{Key::axis, 0}});
      return add({x({2, 3}), x({2, 1})}, {{Key::axis, 1}});
    case Op::reverse:
      add({x({2, 3})}, {{Key::axes, Ints(D{1})}});
      add({x({0, 3})}, {{Key::axes, Ints(D{0})}});
      return add({x({2, 3})}, {{Key::axes, Ints(D{0, 1})}});
    default:
      return;
  }
}

void Maker::index(Op op) {
  for (std::string_view mode : {"error", "clip", "fill"}) {
    const std::int64_t low = mode == "error" ? -3 : -5, high = mode == "error" ? 2 : 5;
    if (op == Op::take) {
      add({x({3, 2}), i({}, low, high)}, {{Key::axis, 0}, {Key::mode, mode}});
      add({x({2, 3}), i({2, 2}, low, high)}, {{Key::axis, 1}, {Key::mode, mode}});
      add({x({0, 3}), i({2}, low, high)}, {{Key::axis, 1}, {Key::mode, mode}});
    }
    if (op == Op::take_along) {
      add({x({3, 2}), i({4, 2}, low, high)}, {{Key::axis, 0}, {Key::mode, mode}});
      add({x({2, 3}), i({2, 2}, low, high)}, {{Key::axis, 1}, {Key::mode, mode}});
      add({x({0, 3}), i({0, 2}, low, high)}, {{Key::axis, 1}, {Key::mode, mode}});
    }
    if (op == Op::gather) gather(mode, "");
    if (op == Op::scatter_along || op == Op::scatter)
      for (std::string_view combine : {"set", "add", "mul", "min", "max"}) {
        if (group == DType::Bool && combine != "set") continue;
        if (op == Op::scatter) {
          gather(mode, combine);
          continue;
        }
        add({x({3, 2}), i({4, 2}, low, high), x({4, 2})}, {{Key::axis, 0}, {Key::mode, mode}, {Key::combine, combine}});
        add({x({2, 3}), i({2, 0}, low, high), x({2, 0})}, {{Key::axis, 1}, {Key::mode, mode}, {Key::combine, combine}});
      }
  }
  if (op == Op::dynamic_slice) {
    add({x({4, 3}), i({}, -2, 5), i({}, -2, 5)}, {{Key::sizes, Ints(D{2, 2})}});
    add({x({4}), i({}, -2, 5)}, {{Key::sizes, Ints(D{0})}});
    add({x({})}, {{Key::sizes, Ints(D{})}});
  }
  if (op == Op::dynamic_update_slice) {
    add({x({4, 3}), x({2, 2}), i({}, -2, 5), i({}, -2, 5)});
    add({x({3}), x({0}), i({}, -2, 5)});
  }
}

// @sum(a, b) = a + b
FunctionId Maker::sum() {
  const TypeId scalar = t.types.scalar(group);
  return function({scalar, scalar}, [](Builder& b, const Params& v) { return Params{b.emit(Op::add, {v[0], v[1]})}; });
}

void Maker::reduce(Op op) {
  if (op == Op::reduce_window) return reduce_window();
  if (op == Op::select_and_scatter_add) return select_and_scatter();
  if (op == Op::reduce) {
    if (group == DType::Bool) return;
    for (const D& axes : {D{0}, D{1}, D{0, 1}}) add({x({2, 3}), x({})}, {{Key::body, sum()}, {Key::axes, Ints(axes)}});
    return;
  }
  if (op == Op::argmax || op == Op::argmin || info(op).kind == OpKind::Cumulative) {
    for (std::int64_t axis : {0, 1}) add({x({2, 3})}, {{Key::axis, axis}});
    add({x({4, 0})}, {{Key::axis, 0}});
    if (info(op).kind == OpKind::Cumulative) add({x({3})}, {{Key::axis, 0}, {Key::reverse, true}});
    return;
  }
  for (const D& axes : {D{0}, D{1}, D{0, 1}, D{}}) add({x({2, 3})}, {{Key::axes, Ints(axes)}});
  add({x({2, 0})}, {{Key::axes, Ints(D{0})}});
  if (op != Op::reduce_max && op != Op::reduce_min) add({x({2, 0})}, {{Key::axes, Ints(D{1})}});
  add({x({3, 2})}, {{Key::axes, Ints(D{0})}, {Key::keepdims, true}});
  add({x({70})}, {{Key::axes, Ints(D{0})}});
  add({x({})}, {{Key::axes, Ints(D{})}});
}

void Maker::dot() {
  const auto pair = [&](D a, D b, const D& ba, const D& bb, const D& ca, const D& cb) {
    add({x(std::move(a)), x(std::move(b))}, {{Key::batch, list(ba, bb)}, {Key::contract, list(ca, cb)}});
  };
  pair({3}, {3}, {}, {}, {0}, {0});
  pair({2, 3}, {3, 4}, {}, {}, {1}, {0});
  pair({3, 2}, {4, 3}, {}, {}, {0}, {1});
  pair({2, 3, 4}, {4, 2, 5}, {0}, {1}, {2}, {0});
  pair({2}, {3}, {}, {}, {}, {});
  pair({2, 0}, {0, 3}, {}, {}, {1}, {0});
  pair({}, {3}, {}, {}, {}, {});
}

void Maker::random(Op op) {
  for (std::string_view algorithm : {"philox4x32", "threefry2x32"}) {
    if (op == Op::rng_bits) {
      add({key({})}, {{Key::shape, Ints(D{5})}, {Key::dtype, DType::U64}, {Key::algorithm, algorithm}});
      add({key({2})}, {{Key::shape, Ints(D{2, 3})}, {Key::dtype, DType::U8}, {Key::algorithm, algorithm}});
      add({key({0})}, {{Key::shape, Ints(D{})}, {Key::algorithm, algorithm}});
    }
    if (op == Op::rng_split) {
      add({key({})}, {{Key::n, 3}, {Key::algorithm, algorithm}});
      add({key({2})}, {{Key::n, 11}, {Key::algorithm, algorithm}});
    }
    if (op == Op::rng_fold_in) {
      add({key({}), i({}, 0, 9)}, {{Key::algorithm, algorithm}});
      add({key({3}), i({}, 0, 9)}, {{Key::algorithm, algorithm}});
      add({key({}), i({2}, 0, 9)}, {{Key::algorithm, algorithm}});
      add({key({3}), i({2, 1}, 0, 9)}, {{Key::algorithm, algorithm}});
    }
  }
}

std::string OpCase::text(DType group) const {
  std::string s;
  for (const OpOperand& o : operands) {
    s += (s.empty() ? "" : ", ") + std::string(name(dtype_of(o, group))) + "[";
    for (std::size_t k = 0; k < o.dims.size(); ++k) s += (k ? "," : "") + std::to_string(o.dims[k]);
    s += "]";
  }
  return s;
}

std::string_view why_untested(Op op) {
  const OpInfo& row = info(op);
  if (row.effect == OpEffect::Io || row.effect == OpEffect::Assert) return "it acts on the world or may fail the call";
  for (std::string_view missing : {"kernel", "interpreter"})
    if (row.kind != OpKind::Collective && row.hole.find(missing) != row.hole.npos) return row.hole;
  if (row.effect != OpEffect::Pure) return "it writes or aliases: functionalize comes before other transforms";
  if (row.operands.empty()) return "it has no operands";
  if (op == Op::pack || op == Op::unpack || op == Op::tape_scan)
    return "of packs and tapes, which transforms alone make: while, lin and bwd are tested";
  return {};
}

bool takes(Op op, DType group) {
  if (info(op).kind == OpKind::Random) return group == DType::F64;  // they have no such operand: once
  if (is_complex(group)) return false;                              // few ops have kernels or derivatives for them
  if (op == Op::reduce) return group != DType::Bool;
  for (const OperandSpec& s : info(op).operands)
    if ((s.group == 'A' || s.group == '*') && !matches(s.cls, group)) return false;
  return true;
}

DType dtype_of(const OpOperand& o, DType group) {
  switch (o.role) {
    case OpRole::Group:
      return group;
    case OpRole::Predicate:
      return DType::Bool;
    case OpRole::Index:
      return group == DType::F32 ? DType::I32 : group == DType::I32 ? DType::I8 : DType::I64;
    default:
      return DType::U32;
  }
}

std::vector<OpCase> op_cases(Tables& t, Op op, DType group) {
  Maker m{t, group, {}};
  switch (info(op).kind) {
    case OpKind::Shape:
      m.shape(op);
      break;
    case OpKind::Index:
      m.index(op);
      break;
    case OpKind::Reduce:
    case OpKind::Cumulative:
      m.reduce(op);
      break;
    case OpKind::Sort:
      m.sort(op);
      break;
    case OpKind::Dot:
      op == Op::conv ? m.conv() : m.dot();
      break;
    case OpKind::Random:
      m.random(op);
      break;
    case OpKind::Control:
      m.control(op);
      break;
    case OpKind::Collective:
      m.collective(op);
      break;
    case OpKind::Meta:
      m.meta(op);
      break;
    default:
      if (is_elementwise(op)) m.elementwise(op);
  }
  return std::move(m.out);
}

}  // namespace tfvm::testing
