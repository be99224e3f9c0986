#pragma once
// Parts of Jacobians: a function runs for all unit vectors of an input at once, one lane each.

#include <vector>

#include "bytecode/builder.h"

namespace tfvm {

std::vector<std::int64_t> joined_dims(Dims a, Dims b);

// The unit vectors of a type: [n, dims…], n its number of elements.
ValueId basis(Builder& b, TypeId type);

// [in elements, out dims…] -> out dims + in dims
ValueId in_last(Builder& b, ValueId v, Dims in);

}  // namespace tfvm
