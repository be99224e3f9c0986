// Values at the special points of C99's Annex F, signs of zero, NaN rules, and the operations that are exact.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "jit/math/array.h"

namespace tfvm::math::test {
namespace {

template <class T>
class MathSpecial : public ::testing::Test {
 public:
  static constexpr T inf = std::numeric_limits<T>::infinity();
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T tiny = std::numeric_limits<T>::denorm_min();
  static constexpr T largest = std::numeric_limits<T>::max();

  static T call(MathFn fn, T a, T b = 0, T c = 0) {
    T out = 0;
    array_fn<T>(fn)(&a, &b, &c, &out, 1);
    return out;
  }

  /// Equal values with equal signs; NaN equals NaN.
  static bool same(T a, T b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

  static std::vector<T> points() {
    std::vector<T> out = {0,       1,       T(0.5),  2, 3, T(2.5), inf, tiny, std::numeric_limits<T>::min(),
                          largest, T(1e10), T(1e-10)};
    out.push_back(std::numeric_limits<T>::max() / 3);
    out.push_back(std::ldexp(T(1), std::numeric_limits<T>::digits) - 1);  // the largest odd integer
    out.push_back(std::nextafter(T(1), T(2)));
    for (std::size_t i = out.size(); i-- > 0;) out.push_back(-out[i]);
    out.push_back(nan);
    return out;
  }

  /// Bits of any kind half of the time, else an ordinary size.
  T random() {
    if (generator_() & 1) return std::uniform_real_distribution<T>(-100, 100)(generator_);
    if constexpr (sizeof(T) == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(generator_()));
    if constexpr (sizeof(T) == 8) return std::bit_cast<double>(generator_());
  }

 private:
  std::mt19937_64 generator_{1};
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MathSpecial, Types);

/// The host's libm is a second opinion here: special points exactly, ordinary ones nearly.
template <class Test, class T>
void expect_as_libm(MathFn fn, T (*libm)(T, T)) {
  for (const T x : Test::points()) {
    for (const T y : Test::points()) {
      const T got = Test::call(fn, x, y), want = libm(x, y);
      const T allowed = std::fabs(want) * 4 * std::numeric_limits<T>::epsilon() + 2 * Test::tiny;
      const bool ordinary = std::isfinite(want) && std::isfinite(got) && want != 0 && got != 0;
      EXPECT_TRUE(Test::same(got, want) || (ordinary && std::fabs(got - want) <= allowed))
          << kMathFns[static_cast<std::size_t>(fn)].name << "(" << x << ", " << y << ") = " << got << ", want " << want;
    }
  }
}

TYPED_TEST(MathSpecial, BinaryAtSpecialPoints) {
  using T = TypeParam;
  expect_as_libm<TestFixture, T>(MathFn::pow, [](T x, T y) { return std::pow(x, y); });
  expect_as_libm<TestFixture, T>(MathFn::atan2, [](T x, T y) { return std::atan2(x, y); });
  expect_as_libm<TestFixture, T>(MathFn::hypot, [](T x, T y) { return std::hypot(x, y); });
  expect_as_libm<TestFixture, T>(MathFn::rem, [](T x, T y) { return std::fmod(x, y); });
  expect_as_libm<TestFixture, T>(MathFn::nextafter, [](T x, T y) { return std::nextafter(x, y); });
  expect_as_libm<TestFixture, T>(MathFn::copysign, [](T x, T y) { return std::copysign(x, y); });
}

TYPED_TEST(MathSpecial, RemIsExact) {
  for (int i = 0; i < 200000; ++i) {
    const TypeParam x = this->random(), y = this->random();
    ASSERT_TRUE(this->same(this->call(MathFn::rem, x, y), std::fmod(x, y))) << x << " rem " << y;
  }
}

TYPED_TEST(MathSpecial, RoundingToIntegers) {
  using T = TypeParam;
  for (int i = 0; i < 100000; ++i) {
    const T x = i < 400 ? T(i - 200) / 4 : this->random();
    ASSERT_TRUE(this->same(this->call(MathFn::floor, x), std::floor(x))) << x;
    ASSERT_TRUE(this->same(this->call(MathFn::ceil, x), std::ceil(x))) << x;
    ASSERT_TRUE(this->same(this->call(MathFn::trunc, x), std::trunc(x))) << x;
    ASSERT_TRUE(this->same(this->call(MathFn::round, x), std::nearbyint(x))) << x;  // half to even
    ASSERT_TRUE(this->same(this->call(MathFn::abs, x), std::fabs(x))) << x;
    ASSERT_TRUE(this->same(this->call(MathFn::neg, x), -x)) << x;
  }
}

TYPED_TEST(MathSpecial, SignKeepsZerosAndNaN) {
  using T = TypeParam;
  EXPECT_TRUE(this->same(this->call(MathFn::sign, T(-0.0)), T(-0.0)));
  EXPECT_TRUE(this->same(this->call(MathFn::sign, T(0)), T(0)));
  EXPECT_TRUE(std::isnan(this->call(MathFn::sign, this->nan)));
  EXPECT_EQ(this->call(MathFn::sign, -this->tiny), -1);
  EXPECT_EQ(this->call(MathFn::sign, this->inf), 1);
}

TYPED_TEST(MathSpecial, ExtremaOrderZerosAndKeepNaN) {
  using T = TypeParam;
  for (const T x : this->points()) {
    for (const T y : this->points()) {
      const T most = this->call(MathFn::max, x, y), least = this->call(MathFn::min, x, y);
      if (std::isnan(x) || std::isnan(y)) {
        EXPECT_TRUE(std::isnan(most) && std::isnan(least));
      } else if (x == 0 && y == 0) {
        EXPECT_EQ(std::signbit(most), std::signbit(x) && std::signbit(y));
        EXPECT_EQ(std::signbit(least), std::signbit(x) || std::signbit(y));
      } else {
        EXPECT_EQ(most, x > y ? x : y);
        EXPECT_EQ(least, x > y ? y : x);
      }
    }
  }
  EXPECT_EQ(this->call(MathFn::clamp, T(0), T(5), T(1)), 1);
  EXPECT_EQ(this->call(MathFn::clamp, T(0), T(-5), T(1)), 0);
  EXPECT_TRUE(std::isnan(this->call(MathFn::clamp, T(0), this->nan, T(1))));
}

TYPED_TEST(MathSpecial, ZmulIsAStrongZero) {
  using T = TypeParam;
  for (const T x : this->points()) {
    EXPECT_TRUE(this->same(this->call(MathFn::zmul, x, T(1)), x));
    EXPECT_TRUE(this->same(this->call(MathFn::zmul, x, T(0)), std::signbit(x) ? T(-0.0) : T(0))) << x;
    for (const T y : this->points()) {
      EXPECT_TRUE(x == 0 || y == 0 || this->same(this->call(MathFn::zmul, x, y), x * y));
    }
  }
}

TYPED_TEST(MathSpecial, FmaRoundsOnce) {
  using T = TypeParam;
  for (int i = 0; i < 100000; ++i) {
    const T x = this->random(), y = this->random(), z = this->random();
    ASSERT_TRUE(this->same(this->call(MathFn::fma, x, y, z), std::fma(x, y, z)));
  }
}

TYPED_TEST(MathSpecial, ZfmaIsAStrongZeroAndRoundsOnce) {
  using T = TypeParam;
  constexpr T inf = std::numeric_limits<T>::infinity();
  for (int i = 0; i < 100000; ++i) {
    const T x = this->random(), y = this->random(), z = this->random();
    ASSERT_TRUE(this->same(this->call(MathFn::zfma, x, y, z), std::fma(x, y, z)));
  }
  for (const T y : {inf, -inf, this->nan}) {
    EXPECT_EQ(this->call(MathFn::zfma, T(0), y, T(3)), 3);
    EXPECT_EQ(this->call(MathFn::zfma, y, T(-0.0), T(3)), 3);
    EXPECT_TRUE(std::isnan(this->call(MathFn::zfma, T(0), y, this->nan)));
    EXPECT_TRUE(std::isnan(y) || this->call(MathFn::zfma, T(2), y, T(3)) == y);
  }
  EXPECT_TRUE(this->same(this->call(MathFn::zfma, T(0), -inf, T(-0.0)), T(-0.0)));
  EXPECT_TRUE(this->same(this->call(MathFn::zfma, T(0), inf, T(-0.0)), T(0)));
}

// Both signs of an argument share all digits.
TYPED_TEST(MathSpecial, SineIsOddAndCosineEven) {
  using T = TypeParam;
  for (int k = 0; k <= 64; ++k) {
    const T x = T(k) * T(0.4);
    EXPECT_TRUE(this->same(this->call(MathFn::sin, -x), -this->call(MathFn::sin, x))) << x;
    EXPECT_TRUE(this->same(this->call(MathFn::cos, -x), this->call(MathFn::cos, x))) << x;
    EXPECT_NEAR(this->call(MathFn::sin, -x), -std::sin(x), 1e-6) << x;
  }
  const T large = std::ldexp(T(1), 100);
  EXPECT_TRUE(this->same(this->call(MathFn::sin, -large), -this->call(MathFn::sin, large)));
  EXPECT_NEAR(this->call(MathFn::sin, -large), -std::sin(large), 1e-6);
}

TYPED_TEST(MathSpecial, ExactValues) {
  using T = TypeParam;
  EXPECT_EQ(this->call(MathFn::cos, T(0)), 1);
  EXPECT_EQ(this->call(MathFn::exp, T(0)), 1);
  EXPECT_EQ(this->call(MathFn::log, T(1)), 0);
  EXPECT_EQ(this->call(MathFn::logistic, T(0)), T(0.5));
  for (int k = -20; k <= 20; ++k) {
    EXPECT_EQ(this->call(MathFn::exp2, T(k)), std::ldexp(T(1), k));
    EXPECT_EQ(this->call(MathFn::log2, std::ldexp(T(1), k)), k);
    EXPECT_EQ(this->call(MathFn::cbrt, T(k * k * k)), k);
    EXPECT_EQ(this->call(MathFn::pow, T(2), T(k)), std::ldexp(T(1), k));
    EXPECT_EQ(this->call(MathFn::pow, T(3), T(std::abs(k) % 10)), std::pow(T(3), T(std::abs(k) % 10)));
  }
}

// What bytecode/simplify.cpp says instead of a power by a constant.
TYPED_TEST(MathSpecial, PlainPowers) {
  using T = TypeParam;
  for (int k = 0; k < 3000; ++k) {
    const T x = (k % 2 == 0 ? T(1) : T(-1)) * std::exp2(T(k) / T(25) - T(60)) * (1 + T(k % 97) / T(97));
    EXPECT_EQ(this->call(MathFn::pow, x, T(1)), x);
    EXPECT_EQ(this->call(MathFn::pow, x, T(-1)), 1 / x);
    EXPECT_EQ(this->call(MathFn::pow, x, T(2)), x * x);
    EXPECT_EQ(this->call(MathFn::pow, x, T(3)), x * x * x);
    EXPECT_EQ(this->call(MathFn::pow, std::abs(x), T(0.5)), std::sqrt(std::abs(x)));
  }
}

}  // namespace
}  // namespace tfvm::math::test
