#pragma once
// Columns of small arrays, copied once for nests that go along them again and again.

#include <cstdint>
#include <vector>

#include "jit/region/fuse.h"

namespace tfvm {

// The inner loop of a nest takes consecutive elements at once, strided ones one by one. A nest that comes back to the
// same few strided elements in many rounds of its outer loops (the coordinates of all points, at each of them) loads
// them from a copy that is made before it. Not where the inner loop is kept and others are reduced: the elements stay
// in registers then.
//
//   f = reduce_sum(g(x[i,0] - x[j,0]), j)   ->   c[j] = x[j,0]
//                                                f = reduce_sum(g(x[i,0] - c[j]), j)
//
// Copies have the bases from `bases` on; the bytes of each are returned.
std::vector<std::int64_t> copy_columns(std::vector<FuseItem>& items, std::uint32_t bases);

}  // namespace tfvm
