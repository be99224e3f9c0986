#pragma once
// Drops what calls and loops give and nobody uses: stacked outputs and tapes of loops, results of calls, and with them
// the code inside that made them.
//
//   %c, %ys = scan @step (%c0) {carry=1, length=8}   ret %c   ->   %c = scan @step' (%c0) {carry=1, length=8}   ret %c

#include "transforms/env.h"

namespace tfvm {

// The same signature. Memoised.
Result<FunctionId> without_dead_outputs(TransformEnv& env, FunctionId f);

}  // namespace tfvm
