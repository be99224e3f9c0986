#pragma once
// contract: products that are only added become `fma` (strong-zero products `zfma`), which rounds once. It changes bits
// (by less error), so it runs only where the program says contract(@f); before any tier sees the code, so that all
// tiers agree.
//
//   %m = mul %a, %b   %r = add %m, %c     ->   %r = fma %a, %b, %c
//   %m = mul %a, %b   %r = sub %c, %m     ->   %n = neg %a   %r = fma %n, %b, %c
//   %m = zmul %a, %b  %r = add %m, %c     ->   %r = zfma %a, %b, %c
//
// Small functions that are called take the place of their calls first.

#include "transforms/env.h"

namespace tfvm {

// The same signature. f32 and f64; the products of callees and loops too; a full function stays as it is. Memoised.
Result<FunctionId> contract(TransformEnv& env, FunctionId f);

}  // namespace tfvm
