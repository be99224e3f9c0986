#include "jit/x86/lane_values.h"

namespace tfvm::x86 {

namespace {

template <class T>
T folded_float(LaneOp o, T a, T b) {
  switch (o) {
    case LaneOp::Add:
      return a + b;
    case LaneOp::Sub:
      return a - b;
    case LaneOp::Mul:
      return a * b;
    default:
      return a / b;
  }
}

std::uint64_t folded_int(LaneOp o, std::uint64_t a, std::uint64_t b) {
  switch (o) {
    case LaneOp::IAdd:
      return a + b;
    case LaneOp::ISub:
      return a - b;
    case LaneOp::And:
      return a & b;
    case LaneOp::Or:
      return a | b;
    default:
      return a ^ b;
  }
}

std::uint64_t cut(int width, std::uint64_t bits) { return width == 4 ? static_cast<std::uint32_t>(bits) : bits; }

std::uint64_t folded(LaneOp o, int width, std::uint64_t a, std::uint64_t b) {
  if (o != LaneOp::Add && o != LaneOp::Sub && o != LaneOp::Mul && o != LaneOp::Div)
    return cut(width, folded_int(o, a, b));
  if (width == 8)
    return std::bit_cast<std::uint64_t>(folded_float(o, std::bit_cast<double>(a), std::bit_cast<double>(b)));
  const auto f32 = [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
  return std::bit_cast<std::uint32_t>(folded_float(o, f32(a), f32(b)));
}

}  // namespace

LaneId lane_in(LaneCode* c, int width, LaneValue v) { return v.code ? v.id() : c->constant(width, v.bits); }

LaneValue lane_binary(LaneOp o, int width, LaneValue a, LaneValue b) {
  LaneCode* c = a.code ? a.code : b.code;
  if (!c) return {nullptr, folded(o, width, a.bits, b.bits)};
  const LaneId y = lane_in(c, width, b);
  return {c, c->op(o, width, lane_in(c, width, a), y)};
}

LaneValue lane_shift(LaneOp o, int width, LaneValue a, int n) {
  if (!a.code) return {nullptr, o == LaneOp::Shl ? cut(width, a.bits << n) : a.bits >> n};
  return lane_unary(a.code, o, width, a, n);
}

LaneValue lane_negated(int width, LaneValue a) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
  return lane_binary(LaneOp::Xor, width, a, {nullptr, sign});
}

LaneValue lane_compare(LaneOp o, int width, LaneValue a, LaneValue b, int predicate) {
  LaneCode* c = a.code ? a.code : b.code;
  const LaneId y = lane_in(c, width, b);
  return {c, c->op(o, width, lane_in(c, width, a), y, kNoLane, predicate)};
}

LaneValue lane_fma(LaneCode* c, int width, LaneValue a, LaneValue b, LaneValue d) {
  const LaneId z = lane_in(c, width, d), y = lane_in(c, width, b);
  return {c, c->op(LaneOp::Fma, width, lane_in(c, width, a), y, z)};
}

LaneValue lane_unary(LaneCode* c, LaneOp o, int width, LaneValue a, int imm) {
  return {c, c->op(o, width, lane_in(c, width, a), kNoLane, kNoLane, imm)};
}

LaneValue lane_select(LaneCode* c, int width, LaneId mask, LaneValue a, LaneValue b) {
  const LaneId y = lane_in(c, width, b);
  return {c, c->op(LaneOp::Select, width, mask, lane_in(c, width, a), y)};
}

}  // namespace tfvm::x86
