#pragma once
// The row of vmap in the table of transforms: vmap(@f, in_dims=0, out_dims=0, axis_size=none).

#include "bytecode/transform_table.h"

namespace tfvm {

TransformRow vmap_row();

}  // namespace tfvm
