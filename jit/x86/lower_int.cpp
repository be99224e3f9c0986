// Ops of 32- and 64-bit integers. What has no row (division, powers, counts of bits) is called.
#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

bool is_int_lane(DType d) { return d == DType::I32 || d == DType::U32 || d == DType::I64 || d == DType::U64; }

// One register of lanes at a time; the code and the width of a lane are at hand.
struct Ints {
  LaneCode& code;
  int width;
  bool is_signed;

  LaneId op(LaneOp o, LaneId a, LaneId b) const { return code.op(o, width, a, b); }
  LaneId number(std::int64_t v) const {
    return code.constant(width, width == 4 ? static_cast<std::uint32_t>(v) : static_cast<std::uint64_t>(v));
  }
  LaneId greater(LaneId a, LaneId b) const {
    if (is_signed) return op(LaneOp::IGt, a, b);
    const LaneId sign = code.constant(width, width == 4 ? 0x80000000u : std::uint64_t{1} << 63);
    return op(LaneOp::IGt, op(LaneOp::Xor, a, sign), op(LaneOp::Xor, b, sign));
  }
  LaneId select(LaneId m, LaneId a, LaneId b) const { return code.op(LaneOp::Select, width, m, a, b); }
  LaneId shift(LaneOp o, LaneId a, int count) const { return code.op(o, width, a, kNoLane, kNoLane, count); }
  LaneId neg(LaneId a) const { return op(LaneOp::ISub, number(0), a); }
  LaneId max(LaneId a, LaneId b) const { return select(greater(a, b), a, b); }
  LaneId min(LaneId a, LaneId b) const { return select(greater(b, a), a, b); }
  // 64 bits: the products of the halves; what is beyond 64 bits falls away.
  LaneId mul(LaneId a, LaneId b) const {
    if (width == 4) return op(LaneOp::IMul, a, b);
    const LaneId cross = op(LaneOp::IAdd, op(LaneOp::MulWide, shift(LaneOp::ShrL, a, 32), b),
                            op(LaneOp::MulWide, a, shift(LaneOp::ShrL, b, 32)));
    return op(LaneOp::IAdd, op(LaneOp::MulWide, a, b), shift(LaneOp::Shl, cross, 32));
  }
};

template <class Fn>
bool each_part(Lowering& low, const NestNode& n, Lanes& out, Fn fn) {
  if (!is_int_lane(n.dtype)) return false;
  const Ints i{low.code(), static_cast<int>(size_of(n.dtype)), !is_unsigned(n.dtype)};
  const auto in = [&](std::size_t j, std::size_t k) {
    return n.in[j] == kNoNode ? kNoLane : low.value(n.in[j]).parts[k];
  };
  for (std::size_t k = 0; k < low.value(n.in[0]).parts.size(); ++k) {
    const LaneId r = fn(i, in(0, k), in(1, k), in(2, k));
    if (r == kNoLane) return false;
    out.parts.push_back(r);
  }
  return true;
}

template <auto Fn>
bool row(Lowering& low, const NestNode& n, Lanes& out) {
  return each_part(low, n, out, Fn);
}

constexpr auto kAdd = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.op(LaneOp::IAdd, a, b); };
constexpr auto kSub = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.op(LaneOp::ISub, a, b); };
constexpr auto kMul = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.mul(a, b); };
constexpr auto kSquare = [](const Ints& i, LaneId a, LaneId, LaneId) { return i.mul(a, a); };
constexpr auto kNeg = [](const Ints& i, LaneId a, LaneId, LaneId) { return i.neg(a); };
constexpr auto kMax = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.max(a, b); };
constexpr auto kMin = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.min(a, b); };
constexpr auto kClamp = [](const Ints& i, LaneId lo, LaneId x, LaneId hi) { return i.min(i.max(x, lo), hi); };
constexpr auto kAnd = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.op(LaneOp::And, a, b); };
constexpr auto kOr = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.op(LaneOp::Or, a, b); };
constexpr auto kXor = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.op(LaneOp::Xor, a, b); };
constexpr auto kNot = [](const Ints& i, LaneId a, LaneId, LaneId) { return i.op(LaneOp::Xor, a, i.number(-1)); };
constexpr auto kAbs = [](const Ints& i, LaneId a, LaneId, LaneId) {
  return i.is_signed ? i.select(i.greater(i.number(0), a), i.neg(a), a) : a;
};
constexpr auto kSign = [](const Ints& i, LaneId a, LaneId, LaneId) {
  const LaneId zero = i.number(0);
  if (!i.is_signed) return i.select(i.op(LaneOp::IEq, a, zero), zero, i.number(1));
  return i.select(i.greater(a, zero), i.number(1), i.select(i.greater(zero, a), i.number(-1), zero));
};
constexpr auto kShl = [](const Ints& i, LaneId a, LaneId b, LaneId) { return i.op(LaneOp::ShlV, a, b); };
constexpr auto kShr = [](const Ints& i, LaneId a, LaneId b, LaneId) {
  if (!i.is_signed) return i.op(LaneOp::ShrLV, a, b);
  return i.width == 4 ? i.op(LaneOp::ShrAV, a, b) : kNoLane;
};

constexpr LowerRow kRows[] = {
    {Op::add, &row<kAdd>}, {Op::sub, &row<kSub>},  {Op::mul, &row<kMul>},     {Op::zmul, &row<kMul>},
    {Op::neg, &row<kNeg>}, {Op::abs, &row<kAbs>},  {Op::sign, &row<kSign>},   {Op::square, &row<kSquare>},
    {Op::max, &row<kMax>}, {Op::min, &row<kMin>},  {Op::clamp, &row<kClamp>}, {Op::and_, &row<kAnd>},
    {Op::or_, &row<kOr>},  {Op::xor_, &row<kXor>}, {Op::not_, &row<kNot>},    {Op::shl, &row<kShl>},
    {Op::shr, &row<kShr>},
};

}  // namespace

LowerFn find_int_row(Op op) { return find_lower_row(kRows, op); }

}  // namespace tfvm::x86
