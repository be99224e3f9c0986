#pragma once
// The oracle of the block interpreter: evaluates a nest point by point and reduces by the letter of the fixed order.

#include <cstddef>

#include "jit/region/nest.h"

namespace tfvm {

// As run_nest. Ops are the block ops on one element, so this checks loops, places, rounding and order, not the ops.
void reference_run(const Nest& nest, std::byte* const* bases);

}  // namespace tfvm
