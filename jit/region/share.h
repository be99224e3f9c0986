#pragma once
// Values that nests over the same loops both compute.

#include <cstdint>
#include <vector>

#include "jit/region/fuse.h"

namespace tfvm {

// Nests over the same loops that reduce over different ones can't be one, and compute what they have in common twice.
// Where that is worth more than a pass over memory that the caches hold, the *maker* of the two stores one value, and
// the *reader* loads it. It is the value that leaves the least to compute in both.
//
//   e = reduce_sum(g(r), i, j)          f = reduce_sum(h(r), i); v = g(r)
//   f = reduce_sum(h(r), i)        ->   e = reduce_sum(v, i, j)
//
// Such values have the bases from `bases` on; the bytes of each are returned.
std::vector<std::int64_t> share(std::vector<FuseItem>& items, std::uint32_t bases, const FuseOptions& options);

}  // namespace tfvm
