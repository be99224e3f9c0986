// The generators against the known answers of Random123 (kat_vectors).
#include <gtest/gtest.h>

#include "vm/kernels/counter.h"

namespace tfvm {
namespace {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, RngKey key) {
  std::array<RngWords, 4> c;
  for (std::size_t w = 0; w < 4; ++w) c[w].fill(counter[w]);
  philox4x32(c, key);
  for (std::size_t i = 1; i < kRngBlocks; ++i)
    for (std::size_t w = 0; w < 4; ++w) EXPECT_EQ(c[w][i], c[w][0]);
  return {c[0][0], c[1][0], c[2][0], c[3][0]};
}

std::array<std::uint32_t, 2> threefry(std::array<std::uint32_t, 2> counter, RngKey key) {
  std::array<RngWords, 2> x;
  for (std::size_t w = 0; w < 2; ++w) x[w].fill(counter[w]);
  threefry2x32(x, key);
  return {x[0][0], x[1][0]};
}

TEST(Random, PhiloxGivesTheKnownAnswers) {
  using W = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t kAll = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (W{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kAll, kAll, kAll, kAll}, {kAll, kAll}), (W{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (W{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, ThreefryGivesTheKnownAnswers) {
  using W = std::array<std::uint32_t, 2>;
  constexpr std::uint32_t kAll = 0xffffffff;
  EXPECT_EQ(threefry({0, 0}, {0, 0}), (W{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry({kAll, kAll}, {kAll, kAll}), (W{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry({0x243f6a88, 0x85a308d3}, {0x13198a2e, 0x03707344}), (W{0xc4923a9c, 0x483df7a0}));
}

}  // namespace
}  // namespace tfvm
