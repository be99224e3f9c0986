#pragma once
// Sums that are other sums, or their negatives, up to the signs of zeros.

#include <cstdint>
#include <vector>

#include "jit/x86/shape.h"

namespace tfvm::x86 {

inline constexpr std::uint32_t kNoTwin = 0xffffffffu;

// The earlier reduction whose values are those of this one, or their negatives, but for signs of zeros: then the result
// is its result, or the negative of it, unless that is zero or NaN.
//
//   reduce_sum (a - b) * c       reduce_sum -((b - a) * c)      the forces on the two points of a pair
struct Twin {
  std::uint32_t of = kNoTwin;
  bool is_negative = false;
};

// One per reduction. Only sums of floats have twins, and only such that have none themselves are twins of others.
std::vector<Twin> find_twins(const NestShape& shape);

}  // namespace tfvm::x86
