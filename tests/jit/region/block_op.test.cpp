// What language.md, section 6, fixes about single elements.
#include "jit/region/block_op.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "bytecode/half.h"

namespace tfvm {

namespace {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
  constexpr DType s[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  constexpr DType u[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  constexpr auto k = static_cast<std::size_t>(std::countr_zero(sizeof(T)));
  return std::is_signed_v<T> ? s[k] : u[k];
}

// op on one element, and on each of 37 copies: the two ways through a block op must agree.
template <class T, class R = T, class... In>
R apply(Op op, In... in) {
  const T values[] = {static_cast<T>(in)...};
  std::vector<T> blocks[3];
  for (std::size_t k = 0; k < sizeof...(In); ++k) blocks[k].assign(37, values[k]);
  std::vector<R> many(37);
  R one{};
  const BlockFn fn = find_block_op(op, dtype_of<T>());
  EXPECT_NE(fn, nullptr) << name(op);
  fn(&one, blocks[0].data(), blocks[1].data(), blocks[2].data(), 1);
  fn(many.data(), blocks[0].data(), blocks[1].data(), blocks[2].data(), 37);
  for (const R& r : many) EXPECT_EQ(std::memcmp(&r, &one, sizeof r), 0) << name(op);
  return one;
}

template <class D, class S>
D cast(S s, DType from = dtype_of<S>(), DType to = dtype_of<D>()) {
  std::vector<S> in(21, s);
  std::vector<D> out(21);
  D one{};
  find_cast(from, to)(&one, &s, nullptr, nullptr, 1);
  find_cast(from, to)(out.data(), in.data(), nullptr, nullptr, 21);
  for (const D& d : out) EXPECT_EQ(std::memcmp(&d, &one, sizeof d), 0);
  return one;
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
class Signed : public testing::Test {};
using SignedTypes = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Signed, SignedTypes);

TYPED_TEST(Signed, WrapsAndNeverTraps) {
  using T = TypeParam;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  constexpr int width = 8 * static_cast<int>(sizeof(T));
  EXPECT_EQ(apply<T>(Op::add, most, 1), least);
  EXPECT_EQ(apply<T>(Op::sub, least, 1), most);
  EXPECT_EQ(apply<T>(Op::mul, most, 2), -2);
  EXPECT_EQ(apply<T>(Op::mul, least, least), 0);
  EXPECT_EQ(apply<T>(Op::neg, least), least);
  EXPECT_EQ(apply<T>(Op::abs, least), least);
  EXPECT_EQ(apply<T>(Op::square, most), 1);
  EXPECT_EQ(apply<T>(Op::sign, least), -1);
  EXPECT_EQ(apply<T>(Op::div, 7, 0), -1);
  EXPECT_EQ(apply<T>(Op::div, -7, 2), -3);
  EXPECT_EQ(apply<T>(Op::div, least, -1), least);
  EXPECT_EQ(apply<T>(Op::rem, 7, 0), 7);
  EXPECT_EQ(apply<T>(Op::rem, -7, 2), -1);
  EXPECT_EQ(apply<T>(Op::rem, least, -1), 0);
  EXPECT_EQ(apply<T>(Op::shl, 1, width), 0);
  EXPECT_EQ(apply<T>(Op::shl, 1, -1), 0);
  EXPECT_EQ(apply<T>(Op::shl, 3, width - 1), least);
  EXPECT_EQ(apply<T>(Op::shr, -5, width), -1);
  EXPECT_EQ(apply<T>(Op::shr, 5, -1), 0);
  EXPECT_EQ(apply<T>(Op::shr, -5, 1), -3);
  EXPECT_EQ(apply<T>(Op::pow, 3, 4), 81);
  EXPECT_EQ(apply<T>(Op::pow, 0, -1), -1);
  EXPECT_EQ(apply<T>(Op::pow, 0, 0), 1);
  EXPECT_EQ(apply<T>(Op::pow, -1, -3), -1);
  EXPECT_EQ(apply<T>(Op::pow, 2, -3), 0);
  EXPECT_EQ(apply<T>(Op::pow, 2, least), 0);
  EXPECT_EQ(apply<T>(Op::popcount, -1), width);
  EXPECT_EQ(apply<T>(Op::clz, 1), width - 1);
  EXPECT_EQ(apply<T>(Op::clz, 0), width);
  EXPECT_EQ(apply<T>(Op::not_, 5), ~5);
  EXPECT_EQ(apply<T>(Op::zmul, 3, -2), -6);
  EXPECT_EQ(apply<T>(Op::clamp, 0, -3, 5), 0);
  EXPECT_EQ(apply<T>(Op::max, least, 3), 3);
}

TEST(Unsigned, WrapsAndNeverTraps) {
  EXPECT_EQ(apply<std::uint16_t>(Op::mul, 65535, 65535), 1);
  EXPECT_EQ(apply<std::uint8_t>(Op::sub, 1, 2), 255);
  EXPECT_EQ(apply<std::uint32_t>(Op::div, 7, 0), 0xffffffffu);
  EXPECT_EQ(apply<std::uint64_t>(Op::div, 7, 0), ~0ull);
  EXPECT_EQ(apply<std::uint8_t>(Op::shr, 200, 8), 0);
  EXPECT_EQ(apply<std::uint8_t>(Op::shr, 200, 1), 100);
  EXPECT_EQ(apply<std::uint64_t>(Op::pow, 3, 40), 12157665459056928801ull);
}

template <class T>
class Float : public testing::Test {};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Float, FloatTypes);

TYPED_TEST(Float, ExtremaPropagateNanAndOrderZeros) {
  using T = TypeParam;
  for (Op op : {Op::max, Op::min}) {
    EXPECT_TRUE(std::isnan(apply<T>(op, kNan, 1)));
    EXPECT_TRUE(std::isnan(apply<T>(op, 1, kNan)));
    EXPECT_TRUE(std::isnan(apply<T>(op, kNan, -kInf)));
  }
  EXPECT_FALSE(std::signbit(apply<T>(Op::max, -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(apply<T>(Op::max, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(apply<T>(Op::max, -0.0, -0.0)));
  EXPECT_TRUE(std::signbit(apply<T>(Op::min, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(apply<T>(Op::min, -0.0, 0.0)));
  EXPECT_TRUE(std::isnan(apply<T>(Op::clamp, 0, kNan, 1)));
  EXPECT_TRUE(std::isnan(apply<T>(Op::clamp, kNan, 0, 1)));
  EXPECT_TRUE(std::isnan(apply<T>(Op::clamp, 0, 0, kNan)));
  EXPECT_EQ(apply<T>(Op::clamp, 0, 7, 1), 1);
}

TYPED_TEST(Float, StrongZero) {
  using T = TypeParam;
  EXPECT_EQ(apply<T>(Op::zmul, 0, kInf), 0);
  EXPECT_TRUE(std::signbit(apply<T>(Op::zmul, 0, -kInf)));
  EXPECT_EQ(apply<T>(Op::zmul, kNan, 0), 0);
  EXPECT_TRUE(std::isnan(apply<T>(Op::zmul, kNan, 1)));
  EXPECT_EQ(apply<T>(Op::zmul, 3, 4), 12);
  EXPECT_EQ(apply<T>(Op::zfma, 0, kInf, 5), 5);
  EXPECT_EQ(apply<T>(Op::zfma, kNan, 0, 5), 5);
  EXPECT_TRUE(std::isnan(apply<T>(Op::zfma, kNan, 1, 5)));
  EXPECT_EQ(apply<T>(Op::zfma, 3, 4, 5), 17);
}

TYPED_TEST(Float, RoundingSignsNeighbours) {
  using T = TypeParam;
  EXPECT_EQ(apply<T>(Op::round, 2.5), 2);
  EXPECT_EQ(apply<T>(Op::round, 3.5), 4);
  EXPECT_TRUE(std::signbit(apply<T>(Op::round, -0.25)));
  EXPECT_TRUE(std::signbit(apply<T>(Op::ceil, -0.5)));
  EXPECT_EQ(apply<T>(Op::floor, -0.5), -1);
  EXPECT_EQ(apply<T>(Op::trunc, -1.5), -1);
  EXPECT_TRUE(std::signbit(apply<T>(Op::sign, -0.0)));
  EXPECT_TRUE(std::isnan(apply<T>(Op::sign, kNan)));
  EXPECT_TRUE(std::signbit(apply<T>(Op::neg, 0.0)));
  EXPECT_EQ(apply<T>(Op::rem, -7, 3), -1);
  EXPECT_EQ(apply<T>(Op::rem, 5, kInf), 5);
  EXPECT_TRUE(std::isnan(apply<T>(Op::rem, 5, 0)));
  for (T a : {T(0), T(-0.0), T(1), T(-1), T(1e-40), std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity()})
    for (T b : {T(0), T(-0.0), T(2), T(-2), T(kNan), T(kInf), T(-kInf)}) {
      const T got = apply<T>(Op::nextafter, a, b), want = std::nextafter(a, b);
      if (want != want)
        EXPECT_NE(got, got);
      else
        EXPECT_EQ(std::memcmp(&got, &want, sizeof got), 0) << a << " " << b;
    }
  EXPECT_EQ((apply<T, std::uint8_t>(Op::isnan, kNan)), 1);
  EXPECT_EQ((apply<T, std::uint8_t>(Op::isinf, -kInf)), 1);
  EXPECT_EQ((apply<T, std::uint8_t>(Op::isfinite, kNan)), 0);
  EXPECT_EQ((apply<T, std::uint8_t>(Op::ne, kNan, kNan)), 1);
  EXPECT_EQ((apply<T, std::uint8_t>(Op::ge, kNan, kNan)), 0);
  EXPECT_EQ((apply<T, std::uint8_t>(Op::eq, 0.0, -0.0)), 1);
}

TEST(Cast, FloatToIntSaturates) {
  EXPECT_EQ(cast<std::int32_t>(3e9f), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(cast<std::int32_t>(-3e9f), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(cast<std::int32_t>(kNan), 0);
  EXPECT_EQ(cast<std::int32_t>(-1.9f), -1);
  EXPECT_EQ(cast<std::int64_t>(1e30), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(cast<std::uint8_t>(-1.0f), 0);
  EXPECT_EQ(cast<std::uint8_t>(256.0f), 255);
  EXPECT_EQ(cast<std::uint64_t>(1.8446744073709552e19), ~0ull);
  EXPECT_EQ(cast<std::uint64_t>(-kInf), 0u);
  EXPECT_EQ(cast<std::int8_t>(-128.9), -128);
  EXPECT_EQ((cast<std::uint8_t>(kNan, DType::F32, DType::Bool)), 1);
  EXPECT_EQ((cast<std::uint8_t>(-0.0f, DType::F32, DType::Bool)), 0);
}

TEST(Cast, IntsWrapAndFloatsRoundOnce) {
  EXPECT_EQ(cast<std::int8_t>(std::int32_t{300}), 44);
  EXPECT_EQ(cast<std::uint16_t>(std::int64_t{-1}), 65535);
  EXPECT_EQ(cast<float>(std::int64_t{16777217}), 16777216.0f);
  EXPECT_EQ(cast<float>(~std::uint64_t{0}), 18446744073709551616.0f);
  // Just above the middle of two f16 values, which f32 would round to the middle first.
  const double tie = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ((cast<std::uint16_t>(tie, DType::F64, DType::F16)), f16_bits(tie));
  EXPECT_EQ((cast<std::uint16_t>(1 + 0x1p-8 + 0x1p-45, DType::F64, DType::BF16)), bf16_bits(1 + 0x1p-8 + 0x1p-45));
  const std::int64_t wide = (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1;
  EXPECT_EQ((cast<std::uint16_t>(wide, DType::I64, DType::BF16)), bf16_bits(0x1p60 + 0x1p53));
  EXPECT_EQ((cast<std::uint16_t>(std::int32_t{2049}, DType::I32, DType::F16)), f16_bits(2048));
  EXPECT_EQ((cast<std::uint16_t>(70000.0f, DType::F32, DType::F16)), 0x7c00);
}

TEST(Cast, SixteenBitFloatsThereAndBack) {
  for (DType d : {DType::F16, DType::BF16})
    for (std::uint32_t b = 0; b < 65536; ++b) {
      const auto h = static_cast<std::uint16_t>(b);
      const double value = d == DType::F16 ? f16_value(h) : bf16_value(h);
      double wide = 0;
      find_cast(d, DType::F64)(&wide, &h, nullptr, nullptr, 1);
      if (value != value) {
        ASSERT_NE(wide, wide);
        continue;
      }
      ASSERT_EQ(wide, value);
      std::uint16_t back = 0;
      find_cast(DType::F64, d)(&back, &wide, nullptr, nullptr, 1);
      ASSERT_EQ(back, h);
    }
}

TEST(BlockOp, EveryRowHasOneOrIsComplex) {
  for (std::size_t k = 0; k < kOps; ++k) {
    const Op op = static_cast<Op>(k);
    if (!is_elementwise(op) || op == Op::cast || op == Op::bitcast) continue;
    if (op == Op::real || op == Op::imag || op == Op::conj) continue;
    const OpInfo& row = info(op);
    for (DType d : {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32,
                    DType::U64, DType::F32, DType::F64}) {
      if (!matches(row.operands.back().cls, d)) continue;
      EXPECT_NE(find_block_op(op, d), nullptr) << row.name << " of " << name(d);
    }
  }
}

}  // namespace

}  // namespace tfvm
