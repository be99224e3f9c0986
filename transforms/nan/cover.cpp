#include "transforms/nan/cover.h"

#include <algorithm>

#include "bytecode/callees.h"
#include "transforms/functions.h"

namespace tfvm {

namespace {

bool has_nan(DType d) { return is_float(d) || is_complex(d); }

// The elementwise ops whose result is nan where operand k is.
bool passes_nan(Op op, std::size_t k) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::ceil:
    case Op::floor:
    case Op::round:
    case Op::trunc:
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::cbrt:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::logistic:
    case Op::erf:
    case Op::erfc:
    case Op::erfinv:
    case Op::reciprocal:
    case Op::square:
    case Op::cast:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::max:
    case Op::min:
    case Op::clamp:
    case Op::fma:
      return true;
    case Op::copysign:
      return k == 0;
    case Op::zfma:
      return k == 2;
    default:
      return false;
  }
}

// Other ops that keep each element of operand k, or sum over it; all of them have elements.
bool keeps_elements(const AttrTable& at, const Instr& in, std::size_t k) {
  switch (in.op) {
    case Op::reshape:
    case Op::broadcast_to:
    case Op::full:
    case Op::transpose:
    case Op::reverse:
    case Op::concat:
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::cumsum:
    case Op::cumprod:
    case Op::dot_general:
      return true;
    case Op::pad: {
      const auto none_cut = [](Ints v) { return std::ranges::none_of(v, [](std::int64_t n) { return n < 0; }); };
      return k == 0 && none_cut(at.get_ints(in.attrs, Key::low)) && none_cut(at.get_ints(in.attrs, Key::high));
    }
    case Op::dynamic_update_slice:
      return k == 1;
    default:
      return false;
  }
}

bool is_identity(Op op) {
  return op == Op::optimization_barrier || op == Op::stop_gradient || op == Op::name || op == Op::clone ||
         op == Op::print_;
}

class Cover {
 public:
  Cover(TransformEnv& env, FunctionId f) : env_(env), t_(env.tables), body_(t_.bodies[f.body]) {}

  Mask run(const Mask& results) {
    covered_.assign(body_.num_values(), 0);
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k]) covered_[index(body_.results[k])] = 1;
    for (std::uint32_t i = body_.num_instrs(); i-- > 0;) instr(body_.instr(i));
    return std::move(covered_);
  }

 private:
  void instr(const Instr& in) {
    Mask out;
    for (std::uint32_t k = 0; k < in.num_results; ++k) out.push_back(covered_[index(in.result(k))]);
    switch (in.op) {
      case Op::call:
      case Op::cond:
      case Op::switch_:
        if (any(out)) call(in, out);
        return;
      case Op::scan:
      case Op::while_:
      case Op::tape_scan:
        if (any(out)) loop(in, out);
        return;
      default:
        for (std::uint32_t k = 0; k < in.num_results; ++k)
          if (!out[k]) out[k] = has_own_flag(t_, body_, in, k);
        if (!any(out)) return;
        for (std::size_t k = 0; k < in.operands.size(); ++k)
          if (passes(in, k, out)) cover(in.operands[k]);
    }
  }

  void cover(ValueId v) { covered_[index(v)] = 1; }

  bool passes(const Instr& in, std::size_t k, const Mask& out) const {
    const TypeId type = body_.type(in.operands[k]);
    if (in.op == Op::pack) return t_.types[type].is_tensor() || t_.types[type].kind == TypeKind::Pack;
    if (in.op == Op::unpack) return count(out) == out.size();
    if (is_identity(in.op)) return k < out.size() && out[k];
    const TypeId result = body_.type(in.result());
    if (!t_.types[type].is_tensor() || !has_nan(t_.types.dtype(type)) || !has_nan(t_.types.dtype(result))) return false;
    if (in.op == Op::cast && is_complex(t_.types.dtype(type)) && !is_complex(t_.types.dtype(result))) return false;
    if (is_elementwise(in.op)) return passes_nan(in.op, k);
    return t_.types.elements(result) > 0 && keeps_elements(t_.attrs, in, k);
  }

  void call(const Instr& in, const Mask& out) {
    const std::size_t first = in.op == Op::call ? 0 : 1;
    Mask all(in.operands.size() - first, 1);
    for (FunctionId f : callees(t_, in.op, in.attrs)) {
      const Mask one = nan_cover(env_, f, out);
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = all[k] && one[k];
    }
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k]) cover(in.operands[first + k]);
  }

  // What a loop may not look at, as it may make no trip, is not covered by it.
  void loop(const Instr& in, const Mask& out) {
    const Mask results = loop_cover(env_, in, out);
    const auto number = [&](Key key) { return static_cast<std::size_t>(t_.attrs.get_int(in.attrs, key)); };
    const std::size_t carry = in.op == Op::while_ ? in.num_results - number(Key::tapes) : number(Key::carry);
    const std::size_t consts = in.op == Op::while_ ? number(Key::cond_consts) + number(Key::body_consts)
                                                   : number(Key::consts) + (in.op == Op::tape_scan);
    for (std::size_t k = 0; k < carry; ++k)
      if (results[k]) cover(in.operands[consts + k]);
    if (in.op != Op::scan || t_.attrs.get_int(in.attrs, Key::length) == 0) return;
    const Mask params = nan_cover(env_, t_.attrs.get_func(in.attrs, Key::body), results);
    for (std::size_t k = 0; k < in.operands.size(); ++k)
      if (params[k] && (k < consts || k >= consts + carry)) cover(in.operands[k]);
  }

  TransformEnv& env_;
  const Tables& t_;
  const Body& body_;
  Mask covered_;
};

}  // namespace

Mask loop_cover(TransformEnv& env, const Instr& in, const Mask& out) {
  const AttrTable& at = env.tables.attrs;
  const auto number = [&](Key key) { return static_cast<std::size_t>(at.get_int(in.attrs, key)); };
  const bool is_while = in.op == Op::while_;
  const std::size_t carry = is_while ? in.num_results - number(Key::tapes) : number(Key::carry);
  const std::size_t consts = is_while ? number(Key::body_consts) : number(Key::consts);
  const FunctionId body = at.get_func(in.attrs, Key::body);
  Mask results = out;
  if (in.op != Op::scan) std::fill(results.begin() + static_cast<std::ptrdiff_t>(carry), results.end(), 0);  // tapes
  // Carries whose nan of one trip does not show in what the next gives are not covered; nor then may be others.
  for (bool changed = true; changed;) {
    changed = false;
    const Mask params = nan_cover(env, body, results);
    for (std::size_t k = 0; k < carry; ++k) {
      if (!results[k] || params[consts + k]) continue;
      results[k] = 0;
      changed = true;
    }
  }
  return results;
}

Mask nan_cover(TransformEnv& env, FunctionId f, const Mask& results) {
  const std::vector<std::int64_t> key = memo_key({&results});
  if (const PassResult* known = env.memo.find("nan_cover", f, key)) return known->mask;
  Mask mask = Cover(env, f).run(results);
  env.memo.add("nan_cover", f, key, {f, mask, {}, {}});
  return mask;
}

bool has_own_flag(const Tables& t, const Body& body, const Instr& in, std::uint32_t k) {
  const TypeId id = body.type(in.result(k));
  const Type& type = t.types[id];
  return makes_nan(in.op) && type.is_tensor() && has_nan(type.dtype) && t.types.elements(id) > 0;
}

bool makes_nan(Op op) {
  switch (op) {
    case Op::constant:  // a nan that is written is meant
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::ceil:
    case Op::floor:
    case Op::round:
    case Op::trunc:
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::cbrt:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::asinh:
    case Op::logistic:
    case Op::erf:
    case Op::erfc:
    case Op::square:
    case Op::real:
    case Op::imag:
    case Op::conj:
    case Op::cast:
    case Op::max:
    case Op::min:
    case Op::atan2:
    case Op::hypot:
    case Op::copysign:
    case Op::select:
    case Op::clamp:
    case Op::reshape:
    case Op::broadcast_to:
    case Op::full:
    case Op::transpose:
    case Op::slice:
    case Op::pad:
    case Op::concat:
    case Op::reverse:
    case Op::iota:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::cummax:
    case Op::cummin:
    case Op::dynamic_slice:
    case Op::dynamic_update_slice:
    case Op::sort:
      return false;
    default:
      return !is_identity(op);
  }
}

}  // namespace tfvm
