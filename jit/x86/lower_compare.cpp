// Comparisons, predicates of floats, select, and logic: what gives or takes masks.
#include <utility>

#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

std::vector<LaneId>& masks_of(Lanes& out, int width) { return width == 4 ? out.parts : out.parts8; }

LaneId negate(LaneCode& c, int w, LaneId m) { return c.op(LaneOp::MaskNot, w, m); }

// The comparison of masks, of which false is below true.
LaneId compare_bools(LaneCode& c, Op op, int w, LaneId a, LaneId b) {
  switch (op) {
    case Op::eq:
      return negate(c, w, c.op(LaneOp::MaskXor, w, a, b));
    case Op::ne:
      return c.op(LaneOp::MaskXor, w, a, b);
    case Op::lt:
      return c.op(LaneOp::MaskAnd, w, negate(c, w, a), b);
    case Op::gt:
      return c.op(LaneOp::MaskAnd, w, a, negate(c, w, b));
    case Op::le:
      return c.op(LaneOp::MaskOr, w, negate(c, w, a), b);
    default:
      return c.op(LaneOp::MaskOr, w, a, negate(c, w, b));
  }
}

int predicate(Op op) {
  switch (op) {
    case Op::eq:
      return 0x00;
    case Op::ne:
      return 0x04;
    case Op::lt:
      return 0x11;
    case Op::le:
      return 0x12;
    case Op::gt:
      return 0x1e;
    default:
      return 0x1d;
  }
}

LaneId compare_ints(LaneCode& c, Op op, int w, LaneId a, LaneId b) {
  switch (op) {
    case Op::eq:
      return c.op(LaneOp::IEq, w, a, b);
    case Op::ne:
      return negate(c, w, c.op(LaneOp::IEq, w, a, b));
    case Op::lt:
      return c.op(LaneOp::IGt, w, b, a);
    case Op::gt:
      return c.op(LaneOp::IGt, w, a, b);
    case Op::le:
      return negate(c, w, c.op(LaneOp::IGt, w, a, b));
    default:
      return negate(c, w, c.op(LaneOp::IGt, w, b, a));
  }
}

bool compare(Lowering& low, const NestNode& n, Lanes& out) {
  LaneCode& c = low.code();
  const DType d = low.dtype(n.in[0]);
  const bool is_bool = d == DType::Bool;
  int w = is_bool ? low.mask_width(n.in[0]) : static_cast<int>(size_of(d));
  auto a = is_bool ? low.masks(n.in[0], w) : low.value(n.in[0]).parts;
  auto b = is_bool ? low.masks(n.in[1], w) : low.value(n.in[1]).parts;
  if (auto x = low.narrow(n.in[0]), y = low.narrow(n.in[1]); !x.empty() && !y.empty())
    w = 4, a = std::move(x), b = std::move(y);
  const LaneId sign = is_unsigned(d) ? c.constant(w, w == 4 ? 0x80000000u : std::uint64_t{1} << 63) : kNoLane;
  for (std::size_t k = 0; k < a.size(); ++k) {
    LaneId x = a[k], y = b[k], r;
    if (sign != kNoLane) x = c.op(LaneOp::Xor, w, x, sign), y = c.op(LaneOp::Xor, w, y, sign);
    if (is_bool)
      r = compare_bools(c, n.op, w, x, y);
    else if (is_float_lane(d))
      r = c.op(LaneOp::Compare, w, x, y, kNoLane, predicate(n.op));
    else
      r = compare_ints(c, n.op, w, x, y);
    masks_of(out, w).push_back(r);
  }
  return true;
}

bool classify(Lowering& low, const NestNode& n, Lanes& out) {
  LaneCode& c = low.code();
  const DType d = low.dtype(n.in[0]);
  const int w = static_cast<int>(size_of(d));
  if (!is_float_lane(d)) return false;
  const LaneId magnitude = c.constant(w, w == 4 ? 0x7fffffffu : ~(std::uint64_t{1} << 63));
  const LaneId inf = c.constant(w, w == 4 ? 0x7f800000u : std::uint64_t{0x7ff} << 52);
  for (LaneId x : low.value(n.in[0]).parts) {
    LaneId r;
    if (n.op == Op::isnan)
      r = c.op(LaneOp::Compare, w, x, x, kNoLane, 0x03);
    else
      r = c.op(LaneOp::Compare, w, c.op(LaneOp::And, w, x, magnitude), inf, kNoLane, n.op == Op::isinf ? 0x00 : 0x11);
    masks_of(out, w).push_back(r);
  }
  return true;
}

bool select(Lowering& low, const NestNode& n, Lanes& out) {
  LaneCode& c = low.code();
  const bool is_bool = n.dtype == DType::Bool;
  const int w = is_bool ? low.mask_width(n.in[1]) : static_cast<int>(size_of(n.dtype));
  const auto m = low.masks(n.in[0], w);
  const auto a = is_bool ? low.masks(n.in[1], w) : low.value(n.in[1]).parts;
  const auto b = is_bool ? low.masks(n.in[2], w) : low.value(n.in[2]).parts;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!is_bool) {
      out.parts.push_back(c.op(LaneOp::Select, w, m[k], a[k], b[k]));
      continue;
    }
    const LaneId yes = c.op(LaneOp::MaskAnd, w, m[k], a[k]);
    const LaneId no = c.op(LaneOp::MaskAnd, w, negate(c, w, m[k]), b[k]);
    masks_of(out, w).push_back(c.op(LaneOp::MaskOr, w, yes, no));
  }
  return true;
}

template <LaneOp O>
bool logic(Lowering& low, const NestNode& n, Lanes& out) {
  if (n.dtype != DType::Bool) return false;
  const int w = low.mask_width(n.in[0]);
  const auto a = low.masks(n.in[0], w);
  const auto b = n.in[1] == kNoNode ? a : low.masks(n.in[1], w);
  for (std::size_t k = 0; k < a.size(); ++k)
    masks_of(out, w).push_back(low.code().op(O, w, a[k], n.in[1] == kNoNode ? kNoLane : b[k]));
  return true;
}

constexpr LowerRow kRows[] = {
    {Op::eq, &compare},
    {Op::ne, &compare},
    {Op::lt, &compare},
    {Op::le, &compare},
    {Op::gt, &compare},
    {Op::ge, &compare},
    {Op::isnan, &classify},
    {Op::isinf, &classify},
    {Op::isfinite, &classify},
    {Op::select, &select},
    {Op::and_, &logic<LaneOp::MaskAnd>},
    {Op::or_, &logic<LaneOp::MaskOr>},
    {Op::xor_, &logic<LaneOp::MaskXor>},
    {Op::not_, &logic<LaneOp::MaskNot>},
};

}  // namespace

LowerFn find_compare_row(Op op) { return find_lower_row(kRows, op); }

}  // namespace tfvm::x86
