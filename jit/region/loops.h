#pragma once
// The loops of a prepared nest: extents of 1 dropped, ordered by what reductions need, coalesced.

#include <vector>

#include "jit/region/code.h"
#include "jit/region/nest.h"

namespace tfvm {

// Fills mode, extents, kept, reduced, row, rows, column_chunk, window, and accesses (those of nodes, then of stores,
// then of reductions) with strides in the new order.
void plan_loops(const Nest& nest, NestCode& code);

}  // namespace tfvm
