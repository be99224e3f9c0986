#pragma once
// Small loops that most of a nest does not depend on.

#include "jit/region/nest.h"

namespace tfvm {

// A nest of reductions over pairs of points in space computes what belongs to the pair once for each coordinate. Such a
// loop of 2 to 4 rounds is taken away: what depends on it is there once per round, the rest once.
//
//   f[i,c] = reduce_sum(g(x[i] - x[j]) * (x[i,c] - x[j,c]), j)    over [i, j, 3]
//   three reductions that share g                                 over [j, i]
//
// The order of each sum stays: loops are put in another order where an axis at the end decides it. False: nothing was
// done.
bool unroll_small_loop(Nest& n);

}  // namespace tfvm
