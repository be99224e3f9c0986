#pragma once
// Random nests with their memory, for comparing two ways of running them.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "jit/region/nest.h"

namespace tfvm {

struct RandomNest {
  bool is_exact = false;  // memory holds what the nest touches and no more
  Nest nest;
  std::vector<std::vector<std::byte>> memory;  // per base; stores have bases of their own
};

struct RandomNestOptions {
  std::vector<std::int64_t> extents;  // empty: random ones of rank 0 to 5
  bool reduce = false;
  DType dtype = DType::F32;  // of most values
  int ops = 6;
  std::vector<DType> dtypes;  // that casts go to and come from; empty: all but complex
  bool picks = true;          // loads under masks and with indices
  bool all_ops = false;       // draw from every op that has a block op; else from a few
};

inline constexpr std::int64_t kIndex = 8;  // that a load with an index is moved by at most

RandomNest random_nest(std::mt19937_64& rng, const RandomNestOptions& options);

}  // namespace tfvm
