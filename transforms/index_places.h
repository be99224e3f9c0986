#pragma once
// What the rules of take, take_along and scatter_along share: places along one axis of length n.

#include "bytecode/builder.h"

namespace tfvm {

// bool, as idx: the place is in [0, n).
ValueId places_inside(Builder& b, ValueId idx, std::int64_t n);

// A value with the dims of take's idx, with dims of size 1 for those dims of x (of rank `rank`) that stand before and
// after them in take's result.
ValueId align_places(Builder& b, ValueId idx, std::int64_t axis, std::int64_t rank);

}  // namespace tfvm
