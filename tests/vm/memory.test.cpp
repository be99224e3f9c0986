#include "vm/plan/memory.h"

#include <random>

#include <gtest/gtest.h>

namespace tfvm {
namespace {

TEST(Memory, ValuesThatLiveTogetherNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> v(static_cast<std::size_t>(random() % 60));
    for (Lifetime& l : v) {
      l.bytes = static_cast<std::int64_t>(random() % 500);
      l.first = static_cast<std::uint32_t>(random() % 30);
      l.last = l.first + static_cast<std::uint32_t>(random() % 5);
    }
    const Placement p = place(v, 40);
    for (std::size_t a = 0; a < v.size(); ++a) {
      if (v[a].bytes == 0) continue;
      EXPECT_GE(p.offsets[a], 40);
      EXPECT_LE(p.offsets[a] + v[a].bytes, p.total);
      EXPECT_EQ(p.offsets[a] % (v[a].bytes < 64 ? 16 : 64), 0);
      for (std::size_t b = 0; b < a; ++b) {
        if (v[b].bytes == 0 || v[a].last < v[b].first || v[b].last < v[a].first) continue;
        EXPECT_TRUE(p.offsets[a] + v[a].bytes <= p.offsets[b] || p.offsets[b] + v[b].bytes <= p.offsets[a]);
      }
    }
  }
}

TEST(Memory, AChainTakesTwoBuffers) {
  std::vector<Lifetime> v;
  for (std::uint32_t i = 0; i < 100; ++i) v.push_back({1024, i, i + 1});
  EXPECT_EQ(place(v, 0).total, 2048);
}

}  // namespace
}  // namespace tfvm
