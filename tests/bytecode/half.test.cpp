// f16 and bf16: every pattern reads back as itself, and rounding is half to even.
#include "bytecode/half.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tfvm {
namespace {

TEST(Half, EveryPatternRoundTrips) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const auto bits = static_cast<std::uint16_t>(h);
    if (std::isnan(f16_value(bits))) {
      EXPECT_TRUE(std::isnan(f16_value(f16_bits(f16_value(bits)))));
    } else {
      EXPECT_EQ(f16_bits(f16_value(bits)), bits);
    }
    if (!std::isnan(bf16_value(bits))) {
      EXPECT_EQ(bf16_bits(bf16_value(bits)), bits);
    }
  }
}

TEST(Half, RoundsHalfToEvenAndOnce) {
  EXPECT_EQ(f16_bits(1.0), 0x3c00);
  EXPECT_EQ(f16_bits(1 + 0x1p-11), 0x3c00);            // a tie: to even
  EXPECT_EQ(f16_bits(1 + 3 * 0x1p-11), 0x3c02);        // a tie: to even
  EXPECT_EQ(f16_bits(1 + 0x1p-11 + 0x1p-40), 0x3c01);  // just above: would be a tie after rounding to float first
  EXPECT_EQ(f16_bits(65519.999), 0x7bff);
  EXPECT_EQ(f16_bits(65520.0), 0x7c00);
  EXPECT_EQ(f16_bits(0x1p-25), 0x0000);  // half the least denormal: to even
  EXPECT_EQ(f16_bits(0x1.8p-25), 0x0001);
  EXPECT_EQ(f16_bits(-0.0), 0x8000);
  EXPECT_EQ(bf16_bits(-INFINITY), 0xff80);
}

// Neighbouring patterns bracket every double between them: the nearer one is taken.
TEST(Half, TakesTheNearerNeighbour) {
  for (std::uint16_t h = 0; h < 0x7bff; h = static_cast<std::uint16_t>(h + 7)) {
    const double lo = f16_value(h), hi = f16_value(static_cast<std::uint16_t>(h + 1));
    EXPECT_EQ(f16_bits(lo + 0.25 * (hi - lo)), h);
    EXPECT_EQ(f16_bits(lo + 0.75 * (hi - lo)), h + 1);
  }
}

}  // namespace
}  // namespace tfvm
