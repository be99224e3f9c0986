#pragma once
// Counter-based generators (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): a
// block of words is a function of a counter and a key. Several blocks at once, so that the loops over blocks are
// vectors.

#include <array>
#include <cstddef>
#include <cstdint>

namespace tfvm {

inline constexpr std::size_t kRngBlocks = 8;
using RngWords = std::array<std::uint32_t, kRngBlocks>;  // one word of each block

struct RngKey {
  std::uint32_t k0, k1;
};

// Philox 4x32-10, in place: counters become random words.
inline void philox4x32(std::array<RngWords, 4>& c, RngKey key) {
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kRngBlocks; ++i) {
      const std::uint64_t p = std::uint64_t{0xD2511F53} * c[0][i], q = std::uint64_t{0xCD9E8D57} * c[2][i];
      c[0][i] = static_cast<std::uint32_t>(q >> 32) ^ c[1][i] ^ key.k0;
      c[2][i] = static_cast<std::uint32_t>(p >> 32) ^ c[3][i] ^ key.k1;
      c[1][i] = static_cast<std::uint32_t>(q);
      c[3][i] = static_cast<std::uint32_t>(p);
    }
    key.k0 += 0x9E3779B9;
    key.k1 += 0xBB67AE85;
  }
}

// Threefry 2x32, 20 rounds.
inline void threefry2x32(std::array<RngWords, 2>& x, RngKey key) {
  constexpr unsigned kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::uint32_t k[3] = {key.k0, key.k1, key.k0 ^ key.k1 ^ 0x1BD11BDA};
  const auto inject = [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t i = 0; i < kRngBlocks; ++i) x[0][i] += a, x[1][i] += b;
  };
  inject(k[0], k[1]);
  for (std::uint32_t group = 0; group < 5; ++group) {
    for (unsigned r : kRotations[group % 2])
      for (std::size_t i = 0; i < kRngBlocks; ++i) {
        x[0][i] += x[1][i];
        x[1][i] = ((x[1][i] << r) | (x[1][i] >> (32 - r))) ^ x[0][i];
      }
    inject(k[(group + 1) % 3], k[(group + 2) % 3] + group + 1);
  }
}

}  // namespace tfvm
