#pragma once
// inline_calls: the bodies of functions in the place of plain calls of them, so that what a pass does with neighbouring
// instructions it does across calls, too.
//
//   func @d(%c, %t) { %u = zmul %c, %t   ret %u }
//   %u = call @d(%c, %t)   %v = add %u, %x     ->   %u = zmul %c, %t   %v = add %u, %x
//
// Calls with rules of their own or a checkpoint's policy stay, and so do the callees of loops and branches. Lines are
// those of the functions called.

#include "transforms/env.h"

namespace tfvm {

// Instructions of a callee that is taken, all calls in it replaced, and of a caller that takes no more.
struct InlineSizes {
  std::uint32_t callee, caller;
};

// The same signature. Memoised.
Result<FunctionId> inline_calls(TransformEnv& env, FunctionId f, InlineSizes most);

}  // namespace tfvm
