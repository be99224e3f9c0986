#pragma once
// The row of vmap in the table of transforms: vmap(@f, in_dims=0, out_dims=0, axis_size=none).

#include "bytecode/transform_table.h"

namespace tfvm {

TransformRow vmap_row();

// The callee for one lane, with the name of the axis in scope.
Result<FunctionId> vmap_callee(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args);

}  // namespace tfvm
