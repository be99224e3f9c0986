#pragma once
// The transforms by name, as the elaborator finds them.

#include "bytecode/transform_table.h"

namespace tfvm {

// All rows; those of transforms that come later fail with a clear error when they are made.
TransformTable transform_table(TransformEnv& env);

}  // namespace tfvm
