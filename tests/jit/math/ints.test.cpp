// The integer operations, exhaustively over i8 and u8 against arithmetic in a wider type, and at the ends of the
// others.
#include "jit/math/ints.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace tfvm::math::test {
namespace {

template <class T>
T wrapped(int x) {
  return static_cast<T>(static_cast<unsigned char>(x));
}

template <class T>
void check_all_pairs() {
  constexpr int least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  for (int a = least; a <= most; ++a) {
    for (int b = least; b <= most; ++b) {
      const T x = static_cast<T>(a), y = static_cast<T>(b);
      ASSERT_EQ(wrap_add(x, y), wrapped<T>(a + b));
      ASSERT_EQ(wrap_sub(x, y), wrapped<T>(a - b));
      ASSERT_EQ(wrap_mul(x, y), wrapped<T>(a * b));
      ASSERT_EQ(int_div(x, y), wrapped<T>(b ? a / b : -1));
      ASSERT_EQ(int_rem(x, y), wrapped<T>(b ? a % b : a));
      const int count = static_cast<std::uint8_t>(y);
      ASSERT_EQ(shift_left(x, y), wrapped<T>(count < 8 ? a << count : 0));
      ASSERT_EQ(shift_right(x, y), wrapped<T>(count < 8 ? a >> count : (a < 0 ? -1 : 0)));
    }
    const T x = static_cast<T>(a);
    ASSERT_EQ(wrap_neg(x), wrapped<T>(-a));
    ASSERT_EQ(wrap_abs(x), wrapped<T>(a < 0 ? -a : a));
    ASSERT_EQ(int_sign(x), wrapped<T>((a > 0) - (a < 0)));
    int ones = 0, zeros = 0;
    for (int k = 0; k < 8; ++k) ones += (a >> k) & 1;
    while (zeros < 8 && !((a >> (7 - zeros)) & 1)) ++zeros;
    ASSERT_EQ(popcount(x), ones);
    ASSERT_EQ(clz(x), zeros);
  }
}

TEST(MathInts, AllPairsOfBytes) {
  check_all_pairs<std::int8_t>();
  check_all_pairs<std::uint8_t>();
}

TEST(MathInts, PowerWrapsAndInverts) {
  for (int a = -128; a < 128; ++a) {
    std::int8_t power = 1;
    for (int n = 0; n < 128; ++n) {
      ASSERT_EQ(int_pow(static_cast<std::int8_t>(a), static_cast<std::int8_t>(n)), power) << a << "^" << n;
      power = wrap_mul(power, static_cast<std::int8_t>(a));
    }
    for (int n = -128; n < 0; ++n) {
      const int want = a == 0 ? -1 : a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;
      ASSERT_EQ(int_pow(static_cast<std::int8_t>(a), static_cast<std::int8_t>(n)), want) << a << "^" << n;
    }
  }
  EXPECT_EQ(int_pow<std::uint32_t>(3, 40), static_cast<std::uint32_t>(12157665459056928801ULL));
}

template <class T>
void check_ends() {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  EXPECT_EQ(wrap_add<T>(most, 1), least);
  EXPECT_EQ(wrap_sub<T>(least, 1), most);
  EXPECT_EQ(int_div<T>(least, static_cast<T>(-1)), std::is_signed_v<T> ? least : T{0});
  EXPECT_EQ(int_rem<T>(least, static_cast<T>(-1)), T{0});
  EXPECT_EQ(int_div<T>(5, 0), static_cast<T>(-1));
  EXPECT_EQ(int_rem<T>(5, 0), T{5});
  EXPECT_EQ(shift_left<T>(1, static_cast<T>(-1)), T{0});
  EXPECT_EQ(shift_right<T>(most, sizeof(T) * 8), T{0});
}

TEST(MathInts, Ends) {
  check_ends<std::int16_t>();
  check_ends<std::uint16_t>();
  check_ends<std::int32_t>();
  check_ends<std::uint32_t>();
  check_ends<std::int64_t>();
  check_ends<std::uint64_t>();
}

}  // namespace
}  // namespace tfvm::math::test
