// Conversions round once and saturate. The 16-bit formats are compared with a rounding that knows only their
// definition.
#include "jit/math/convert.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "jit/math/convert_array.h"

namespace tfvm::math::test {
namespace {

/// The value of a finite 16-bit pattern with `mantissa` bits.
double value_of(std::uint16_t h, int mantissa) {
  return mantissa == 10 ? static_cast<double>(f16_to_f32(h)) : static_cast<double>(bf16_to_f32(h));
}

/// The pattern of x's magnitude by bisection over the ordered patterns, ties to even. x is exact in long double.
std::uint16_t nearest_pattern(long double x, int mantissa) {
  const auto infinite = static_cast<std::uint16_t>(0x7FFF & ~((1 << mantissa) - 1));
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const long double size = std::fabs(x);
  std::uint16_t low = 0, high = static_cast<std::uint16_t>(infinite - 1);
  const long double top = value_of(high, mantissa),
                    step = top - value_of(static_cast<std::uint16_t>(high - 1), mantissa);
  if (size >= top + step / 2) return static_cast<std::uint16_t>(sign | infinite);
  if (size >= top) return static_cast<std::uint16_t>(sign | high);
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value_of(middle, mantissa) <= size ? low : high) = middle;
  }
  const long double below = size - value_of(low, mantissa), above = value_of(high, mantissa) - size;
  const bool up = above < below || (above == below && (low & 1));
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

TEST(MathConvert, EveryHalfGoesThereAndBack) {
  for (int i = 0; i < 0x10000; ++i) {
    const auto h = static_cast<std::uint16_t>(i);
    ASSERT_TRUE(std::isnan(f16_to_f32(h)) || f32_to_f16(f16_to_f32(h)) == h) << h;
    ASSERT_TRUE(std::isnan(bf16_to_f32(h)) || f32_to_bf16(bf16_to_f32(h)) == h) << h;
  }
  EXPECT_EQ(f16_to_f32(0x3C00), 1.0F);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24F);
  EXPECT_EQ(bf16_to_f32(0x3F80), 1.0F);
}

TEST(MathConvert, RoundsOnceAroundEveryMidpoint) {
  for (const int mantissa : {10, 7}) {
    const auto from_f32 = [=](float x) { return mantissa == 10 ? f32_to_f16(x) : f32_to_bf16(x); };
    const auto from_f64 = [=](double x) { return mantissa == 10 ? f64_to_f16(x) : f64_to_bf16(x); };
    const int infinite = 0x7FFF & ~((1 << mantissa) - 1);
    for (int i = 0; i < infinite; ++i) {
      const double low = value_of(static_cast<std::uint16_t>(i), mantissa);
      const double high = i + 1 < infinite ? value_of(static_cast<std::uint16_t>(i + 1), mantissa)
                                           : 2 * low - value_of(static_cast<std::uint16_t>(i - 1), mantissa);
      const double middle = low / 2 + high / 2;
      for (const double x : {middle, std::nextafter(middle, low), std::nextafter(middle, high), low}) {
        ASSERT_EQ(from_f64(x), nearest_pattern(x, mantissa)) << x;
        ASSERT_EQ(from_f64(-x), nearest_pattern(-x, mantissa)) << x;
        const auto narrow = static_cast<float>(x);
        ASSERT_EQ(from_f32(narrow), nearest_pattern(narrow, mantissa)) << x;
      }
    }
  }
  EXPECT_EQ(f64_to_f16(1e300), 0x7C00);
  EXPECT_EQ(f64_to_bf16(-1e300), 0xFF80);
  EXPECT_TRUE(std::isnan(f16_to_f32(f64_to_f16(std::nan("")))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f64_to_bf16(-std::nan("")))));
}

TEST(MathConvert, IntegersRoundOnce) {
  std::mt19937_64 generator(1);
  for (int i = 0; i < 300000; ++i) {
    auto x = generator() >> (i % 64);
    if (i % 3 == 0) x = (std::uint64_t{0x101} << (i % 55)) + (i / 3 % 3 - 1);  // around bf16's midpoints
    ASSERT_EQ(u64_to_bf16(x), nearest_pattern(static_cast<long double>(x), 7)) << x;
    ASSERT_EQ(u64_to_f16(x), nearest_pattern(static_cast<long double>(x), 10)) << x;
    const auto s = static_cast<std::int64_t>(x);
    ASSERT_EQ(i64_to_bf16(s), nearest_pattern(static_cast<long double>(s), 7)) << s;
    ASSERT_EQ(i64_to_f16(s), nearest_pattern(static_cast<long double>(s), 10)) << s;
  }
}

TEST(MathConvert, ArraysAreTheScalars) {
  std::mt19937 generator(2);
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<float> x(n), wide(n), wide_b(n);
    for (auto& v : x) v = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
    std::vector<std::uint16_t> half(n), brain(n);
    f32_to_f16(x.data(), half.data(), n);
    f32_to_bf16(x.data(), brain.data(), n);
    f16_to_f32(half.data(), wide.data(), n);
    bf16_to_f32(brain.data(), wide_b.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(half[i], f32_to_f16(x[i]));
      ASSERT_EQ(brain[i], f32_to_bf16(x[i]));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(f16_to_f32(half[i])));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide_b[i]), std::bit_cast<std::uint32_t>(bf16_to_f32(brain[i])));
    }
  }
}

template <class I, class F>
void check_saturation() {
  using Limits = std::numeric_limits<I>;
  constexpr F inf = std::numeric_limits<F>::infinity();
  EXPECT_EQ((saturate_cast<I>(std::numeric_limits<F>::quiet_NaN())), I{0});
  EXPECT_EQ((saturate_cast<I>(inf)), Limits::max());
  EXPECT_EQ((saturate_cast<I>(-inf)), Limits::min());
  const F beyond = std::ldexp(F(1), Limits::digits);
  EXPECT_EQ((saturate_cast<I>(beyond)), Limits::max());
  EXPECT_EQ((saturate_cast<I>(std::nextafter(beyond, F(0)))), static_cast<I>(std::nextafter(beyond, F(0))));
  EXPECT_EQ((saturate_cast<I>(static_cast<F>(Limits::min()))), Limits::min());
  EXPECT_EQ((saturate_cast<I>(F(-0.75))), I{0});
  EXPECT_EQ((saturate_cast<I>(F(3.99))), I{3});
}

TEST(MathConvert, FloatToIntegerSaturates) {
  check_saturation<std::int8_t, float>();
  check_saturation<std::uint8_t, double>();
  check_saturation<std::int32_t, float>();
  check_saturation<std::int32_t, double>();
  check_saturation<std::uint32_t, float>();
  check_saturation<std::int64_t, float>();
  check_saturation<std::int64_t, double>();
  check_saturation<std::uint64_t, double>();
}

}  // namespace
}  // namespace tfvm::math::test
