#pragma once
// Addresses in a frame by lifetimes: values that are never alive in the same step may share bytes.

#include <cstdint>
#include <span>
#include <vector>

namespace tfvm {

// Alive from the step that writes it to the last that reads it, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  // one per lifetime
  std::int64_t total = 0;
};

// Best fit in order of `first`, larger values first among equals; O(n log n). Offsets are at least `base` and aligned
// to 64 (16 for values below 64 bytes).
Placement place(std::span<const Lifetime> values, std::int64_t base);

}  // namespace tfvm
