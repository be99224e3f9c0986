#pragma once
// How long nests take, so that it is known how often to look at the clock.

#include "jit/region/nest.h"

namespace tfvm {

// All points, in additions of one lane among many; loads and functions cost more, and fewer than 16 points as much as
// 16. At most 2^60.
std::int64_t time_of(const Nest& nest);

// One point of a node in the block interpreter, in additions over a block.
std::int64_t point_time_of(const NestNode& n);

}  // namespace tfvm
