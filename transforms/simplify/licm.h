#pragma once
// licm: loop-invariant code motion. What each trip of a `scan`, `while` or `tape_scan` would make anew from constants
// alone is made once, before the loop. It may run although the loop then makes no trip, so it must be pure and must not
// fail (simplify/region.h).
//
//   body (%w, %c) { %e = exp %w   %d = mul %c, %e   ret %d }   %r = scan @body (%w, %c0) {consts=1, carry=1, length=9}
//   body (%e, %c) { %d = mul %c, %e   ret %d }   %e = exp %w   %r = scan @body (%e, %c0) {consts=1, carry=1, length=9}

#include "transforms/env.h"

namespace tfvm {

// The same signature and the same bits. Loops in callees and loops in loops too; a full function stays as it is.
// Memoised.
Result<FunctionId> licm(TransformEnv& env, FunctionId f);

}  // namespace tfvm
