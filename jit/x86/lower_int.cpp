// Ops of 32- and 64-bit integers. What has no row (division of 64 bits, powers, counts of bits) is called.
#include <bit>

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

// Division of 32 bits through doubles: a register of 4-byte lanes and the two of 8-byte lanes that it fills.
struct Quotients {
  LaneCode& c;
  bool is_signed;

  LaneId op(LaneOp o, LaneId a, LaneId b = kNoLane, int imm = 0) const { return c.op(o, 8, a, b, kNoLane, imm); }
  LaneId number(double v) const { return c.constant(8, std::bit_cast<std::uint64_t>(v)); }
  // Without a sign: less 2^31 in the integer, and more by it in the double.
  LaneId moved(LaneId v) const { return is_signed ? v : c.op(LaneOp::Xor, 4, v, c.constant(4, 0x80000000u)); }
  LaneId wide(LaneId v, int half) const {
    const LaneId d = op(LaneOp::IntToDouble, moved(v), kNoLane, half);
    return is_signed ? d : op(LaneOp::Add, d, number(0x1p31));
  }
  // (|a| + 1/2) / |b| is at least 1 / (2 |b|) from the next integers, more than the two roundings of a product with the
  // reciprocal move it: less than 2^-21 / |b|. So one division serves all that are divided by one b.
  LaneId half_of(LaneId a, LaneId b, int half) const {
    const LaneId x = wide(a, half), sign = op(LaneOp::And, x, c.constant(8, std::uint64_t{1} << 63));
    const LaneId away = op(LaneOp::Add, x, op(LaneOp::Or, sign, number(0.5)));
    const LaneId q = op(LaneOp::Mul, away, op(LaneOp::Div, number(1), wide(b, half)));
    return is_signed ? q : op(LaneOp::Sub, op(LaneOp::Round, q, kNoLane, 11), number(0x1p31));
  }
  // What is outside is MIN / -1, which is the least integer, or by zero.
  LaneId quotient(LaneId a, LaneId b, bool is_whole) const {
    const LaneId low = half_of(a, b, 0), high = is_whole ? half_of(a, b, 1) : kNoLane;
    const LaneId q = moved(c.op(LaneOp::DoubleToInt, 4, low, high));
    return c.op(LaneOp::Select, 4, c.op(LaneOp::IEq, 4, b, c.constant(4, 0)), c.constant(4, 0xffffffffu), q);
  }
  LaneId rest(LaneId a, LaneId b, bool is_whole) const {
    return c.op(LaneOp::ISub, 4, a, c.op(LaneOp::IMul, 4, quotient(a, b, is_whole), b));
  }
};

template <auto Fn>
bool quotients(Lowering& low, const NestNode& n, Lanes& out) {
  if (n.dtype != DType::I32 && n.dtype != DType::U32) return false;
  const Quotients q{low.code(), n.dtype == DType::I32};
  const auto &a = low.value(n.in[0]).parts, &b = low.value(n.in[1]).parts;
  for (std::size_t k = 0; k < a.size(); ++k)
    out.parts.push_back((q.*Fn)(a[k], b[k], low.code().parts(8) > static_cast<int>(2 * k) + 1));
  return true;
}

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
    {Op::add, &row<kAdd>},
    {Op::sub, &row<kSub>},
    {Op::mul, &row<kMul>},
    {Op::zmul, &row<kMul>},
    {Op::neg, &row<kNeg>},
    {Op::abs, &row<kAbs>},
    {Op::sign, &row<kSign>},
    {Op::square, &row<kSquare>},
    {Op::max, &row<kMax>},
    {Op::min, &row<kMin>},
    {Op::clamp, &row<kClamp>},
    {Op::and_, &row<kAnd>},
    {Op::or_, &row<kOr>},
    {Op::xor_, &row<kXor>},
    {Op::not_, &row<kNot>},
    {Op::shl, &row<kShl>},
    {Op::shr, &row<kShr>},
    {Op::div, &quotients<&Quotients::quotient>},
    {Op::rem, &quotients<&Quotients::rest>},
};

}  // namespace

LowerFn find_int_row(Op op) { return find_lower_row(kRows, op); }

}  // namespace tfvm::x86
