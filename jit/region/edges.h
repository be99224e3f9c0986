#pragma once
// Nests whose masks are the same nearly everywhere, as those of stencils are, cut where they change.

#include <cstdint>
#include <vector>

#include "jit/region/nest.h"

namespace tfvm {

// Masks that compare one loop's place with a constant hold on one side of it. Where pads and rolls are computed by
// their readers, such places are at the edges of loops; the nest is cut there, and in each part what is known there is
// left out: masks, choices, loads of what is not there. Of a loop that is cut the longest part is cut along the next
// one, so that there are few. Only loops that are not reduced are cut, and not where rows would be others, so no bits
// change.
//
//   y = select(i < 1, 0, x[i - 1] if i >= 1)   over i in [100]   ->   y = 0 over [1], y = x[i - 1] over [99]
//
// Gives the nest alone where that is not likely to be faster, if one more nest takes so many picoseconds.
std::vector<Nest> cut_at_edges(Nest n, std::int64_t per_nest);

}  // namespace tfvm
