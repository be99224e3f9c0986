#include "bytecode/simplify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tfvm {

namespace {

using Operands = std::span<const ValueId>;

// The instruction that makes v, where it is `op`.
std::optional<Instr> made_by(Builder& b, const std::vector<InstrId>& def, ValueId v, Op op) {
  const InstrId d = def[index(v)];
  if (d == kNone<InstrId> || b.body().ops[index(d)] != op) return std::nullopt;
  return b.body().instr(d);
}

// The value of a splat constant of a real dtype.
std::optional<double> splat_value(Builder& b, ValueId v) {
  const auto c = b.splat_of(v);
  if (!c || is_complex(b.dtype(v))) return std::nullopt;
  return b.tables().consts.as_double(*c);
}

bool is_minus_zero(double d) { return d == 0 && std::signbit(d); }

// x^1, x^2, x^3, x^(1/2) and 1/x, with the bits that pow (jit/math/pow.h) gives.
ValueId simplify_power(Builder& b, ValueId x, ValueId y, double power) {
  if (power == 1) return x;
  if (power == 2) return b.emit(Op::mul, {x, x});
  const DType d = b.dtype(x);
  if (power == 3 && d != DType::F16 && d != DType::BF16) return b.emit(Op::mul, {b.emit(Op::mul, {x, x}), x});
  if (!is_float(d)) return kNoValue;
  if (power == -1) return b.emit(Op::div, {b.splat_like(y, 1), x});
  if (power != 0.5) return kNoValue;
  // pow of -0 is 0 and pow of -inf is inf, as C99 has it.
  const ValueId root = b.emit(Op::sqrt, {b.emit(Op::add, {x, b.splat_like(y, 0)})});
  const ValueId infinite = b.emit(Op::eq, {x, b.splat_like(y, -HUGE_VAL)});
  return b.emit(Op::select, {infinite, b.splat_like(y, HUGE_VAL), root});
}

ValueId simplify_binary(Builder& b, Op op, Operands in) {
  const ValueId x = in[0], y = in[1];
  const auto cx = splat_value(b, x), cy = splat_value(b, y);
  if (!cx && !cy) return kNoValue;
  const bool whole = !is_float(b.dtype(x));
  switch (op) {
    case Op::add:  // x + (-0) is x; x + 0 is not, for x = -0
      if (cy && *cy == 0 && (whole || is_minus_zero(*cy))) return x;
      if (cx && *cx == 0 && (whole || is_minus_zero(*cx))) return y;
      return kNoValue;
    case Op::sub:
      return cy && *cy == 0 && !is_minus_zero(*cy) ? x : kNoValue;
    case Op::mul:
    case Op::zmul:
      if (cy && *cy == 1) return x;
      if (cx && *cx == 1) return y;
      // A strong zero differs from IEEE only where a factor may be 0 while the other is not finite.
      if (op == Op::zmul && cy && *cy != 0 && std::isfinite(*cy)) return b.emit(Op::mul, {x, y});
      if (op == Op::zmul && cx && *cx != 0 && std::isfinite(*cx)) return b.emit(Op::mul, {x, y});
      return kNoValue;
    case Op::div:
      return cy && *cy == 1 ? x : kNoValue;
    case Op::pow:
      return cy ? simplify_power(b, x, y, *cy) : kNoValue;
    case Op::and_:
    case Op::or_: {
      if (b.dtype(x) != DType::Bool) return kNoValue;
      const bool unit = op == Op::and_;  // the constant that leaves the other as it is
      if (cy) return (*cy != 0) == unit ? x : y;
      return (*cx != 0) == unit ? y : x;
    }
    default:
      return kNoValue;
  }
}

bool is_identity(Ints perm) {
  for (std::size_t k = 0; k < perm.size(); ++k)
    if (perm[k] != static_cast<std::int64_t>(k)) return false;
  return true;
}

ValueId simplify_transpose(Builder& b, const std::vector<InstrId>& def, ValueId x, AttrId attrs) {
  const AttrTable& at = b.tables().attrs;
  const Ints perm = at.get_ints(attrs, Key::perm);
  if (is_identity(perm)) return x;
  if (const auto inner = made_by(b, def, x, Op::transpose)) {
    const Ints first = at.get_ints(inner->attrs, Key::perm);
    std::vector<std::int64_t> both(perm.size());
    for (std::size_t k = 0; k < perm.size(); ++k) both[k] = first[static_cast<std::size_t>(perm[k])];
    return b.emit(Op::transpose, {inner->operands[0]}, {{Key::perm, Ints(both)}});
  }
  return kNoValue;
}

ValueId simplify_slice(Builder& b, ValueId x, AttrId attrs, TypeId type) {
  const AttrTable& at = b.tables().attrs;
  const bool whole = b.type(x) == type &&
                     std::ranges::all_of(at.get_ints(attrs, Key::start), [](auto s) { return s == 0; }) &&
                     std::ranges::all_of(at.get_ints(attrs, Key::stride), [](auto s) { return s == 1; });
  return whole ? x : kNoValue;
}

// An integer dtype (or bool) whose values `wide` holds all, exactly. Floats are not asked for: a cast quiets NaNs.
bool holds_all(DType wide, DType narrow) {
  if (narrow == DType::Bool) return true;
  if (!is_int(narrow)) return false;
  const auto bits = [](DType d) { return static_cast<int>(8 * size_of(d)); };
  if (wide == DType::F64) return bits(narrow) <= 32;
  if (wide == DType::F32) return bits(narrow) <= 16;
  if (!is_int(wide)) return false;
  if (is_signed(wide) == is_signed(narrow)) return bits(wide) >= bits(narrow);
  return is_signed(wide) && bits(wide) > bits(narrow);
}

ValueId simplify_cast(Builder& b, const std::vector<InstrId>& def, ValueId x, TypeId type) {
  if (b.type(x) == type) return x;
  const auto inner = made_by(b, def, x, Op::cast);
  if (!inner || !holds_all(b.dtype(x), b.dtype(inner->operands[0]))) return kNoValue;
  // From a float saturates where from an integer wraps; a half may be rounded on the way.
  const DType from = b.dtype(inner->operands[0]), to = b.tables().types.dtype(type);
  const bool same = to == DType::Bool || to == DType::F32 || to == DType::F64 || holds_all(to, from) ||
                    (is_int(to) && is_int(b.dtype(x)));
  return same ? b.emit(Op::cast, {inner->operands[0]}, {{Key::dtype, to}}) : kNoValue;
}

// A reduction over extents of 1 changes no bit.
ValueId simplify_reduce(Builder& b, ValueId x, AttrId attrs, TypeId type) {
  const Ints axes = b.tables().attrs.get_ints(attrs, Key::axes);
  const Dims dims = b.dims(x);
  if (std::ranges::any_of(axes, [&](std::int64_t a) { return dims[static_cast<std::size_t>(a)] != 1; }))
    return kNoValue;
  return b.emit(Op::reshape, {x}, {{Key::shape, b.tables().types.dims(type)}});
}

bool all_zero(Ints v) {
  return std::ranges::all_of(v, [](auto s) { return s == 0; });
}

ValueId simplify_select(Builder& b, Operands in) {
  if (in[1] == in[2]) return in[1];
  const auto p = splat_value(b, in[0]);
  return p ? (*p != 0 ? in[1] : in[2]) : kNoValue;
}

// A move of a splat is a splat of the other shape.
ValueId move_splat(Builder& b, ValueId x, TypeId type) {
  const auto c = b.splat_of(x);
  if (!c) return kNoValue;
  const ValueId s = b.constant(*c);
  if (b.tables().types.rank(type) == 0) return s;
  return b.emit(Op::broadcast_to, {s}, {{Key::shape, b.tables().types.dims(type)}});
}

}  // namespace

ValueId simplify(Builder& b, Op op, Operands in, AttrId attrs, std::span<const TypeId> types) {
  const AttrTable& at = b.tables().attrs;
  const std::vector<InstrId>& def = b.def_;
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::zmul:
    case Op::div:
    case Op::pow:
    case Op::and_:
    case Op::or_:
      return simplify_binary(b, op, in);
    case Op::neg:
      if (const auto x = made_by(b, def, in[0], Op::neg)) return x->operands[0];
      return kNoValue;
    case Op::not_:
      if (const auto x = made_by(b, def, in[0], Op::not_)) return x->operands[0];
      return kNoValue;
    case Op::select:
      return simplify_select(b, in);
    case Op::cast:
      return simplify_cast(b, def, in[0], types[0]);
    case Op::max:
    case Op::min:
      return in[0] == in[1] ? in[0] : kNoValue;
    case Op::bitcast:
      return b.type(in[0]) == types[0] ? in[0] : kNoValue;
    case Op::full:
      return b.emit(Op::broadcast_to, {in[0]}, {{Key::shape, at.get_ints(attrs, Key::shape)}});
    case Op::view:  // nothing writes here: what a value shares can't be seen
      return b.emit(Op::reshape, {in[0]}, {{Key::shape, b.tables().types.dims(types[0])}});
    case Op::alias:
      return in[0];
    case Op::detach:
      return b.emit(Op::stop_gradient, {in[0]});
    case Op::reshape:
      if (b.type(in[0]) == types[0]) return in[0];
      if (const ValueId v = move_splat(b, in[0], types[0]); v != kNoValue) return v;
      if (const auto x = made_by(b, def, in[0], Op::reshape))
        return b.emit(op, {x->operands[0]}, {{Key::shape, b.tables().types.dims(types[0])}});
      return kNoValue;
    case Op::broadcast_to:
      if (b.type(in[0]) == types[0]) return in[0];
      if (const auto x = made_by(b, def, in[0], Op::broadcast_to))
        return b.emit(op, {x->operands[0]}, {{Key::shape, b.tables().types.dims(types[0])}});
      return kNoValue;
    case Op::transpose:
      if (const ValueId v = move_splat(b, in[0], types[0]); v != kNoValue) return v;
      return simplify_transpose(b, def, in[0], attrs);
    case Op::slice:
      if (const ValueId v = move_splat(b, in[0], types[0]); v != kNoValue) return v;
      return simplify_slice(b, in[0], attrs, types[0]);
    case Op::reverse:
      if (const auto x = made_by(b, def, in[0], Op::reverse); x && x->attrs == attrs) return x->operands[0];
      return at.get_ints(attrs, Key::axes).empty() ? in[0] : move_splat(b, in[0], types[0]);
    case Op::pad:
      return all_zero(at.get_ints(attrs, Key::low)) && all_zero(at.get_ints(attrs, Key::high)) &&
                     all_zero(at.get_ints(attrs, Key::interior))
                 ? in[0]
                 : kNoValue;
    case Op::concat:
      return in.size() == 1 ? in[0] : kNoValue;
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_and:
    case Op::reduce_or:
      return simplify_reduce(b, in[0], attrs, types[0]);
    default:
      return kNoValue;
  }
}

}  // namespace tfvm
