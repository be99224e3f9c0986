#pragma once
// XXH3 over the bytes of hash-consed content. A hit always compares content: bytecode may be hostile.

#include <cstdint>
#include <span>

#include <xxhash.h>

namespace tfvm {

inline std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(data, size, seed);
}

template <class T>
std::uint64_t hash_span(std::span<const T> s, std::uint64_t seed = 0) {
  return hash_bytes(s.data(), s.size_bytes(), seed);
}

inline std::uint64_t hash_mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 32;  // tables index by the low bits
}

}  // namespace tfvm
