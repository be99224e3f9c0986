#pragma once
// split: a function whose results depend on some of its parameters linearly (a jvp, on its tangents) becomes two, the
// part that needs only the other parameters and the linear rest, joined by residuals.
//
//   jvp(@f): func (%x, %x.t) { %s = sin %x   %c = cos %x   %s.t = zmul %c, %x.t   ret %s, %s.t }
//   known:   func (%x)       { %s = sin %x   %c = cos %x   ret %s, %c }
//   linear:  func (%c, %x.t) { %s.t = zmul %c, %x.t   ret %s.t }
//
// Residuals are saved as little as may be: a parameter is passed on, not returned; constants and broadcasts are made
// again. Over `cond` and `switch` the residuals of the branches share slots by type, a branch fills foreign slots with
// zeros. Over `scan` they are stacked, over `while` and `tape_scan` written on tapes, but what does not change from
// trip to trip is taken out of the loop.

#include "transforms/env.h"

namespace tfvm {

struct Split {
  FunctionId known;                     // (known parameters…) -> (known results…, residuals that it makes…)
  FunctionId linear;                    // (residuals…, unknown parameters…) -> (unknown results…)
  Mask unknown;                         // per result
  std::vector<std::int64_t> residuals;  // per residual: the place among the known parameters, or -1: made, in order
};

enum class SplitUse : std::uint8_t {
  Linearize,
  Hoist,      // the unknown part need not be linear; effects and control flow with unknown operands stay in it
  HoistSafe,  // and whatever may fail
};

// `unknown`: per parameter. Results are unknown where they depend on one, or where `force` (empty = none) asks for it.
// `pass_on` (empty = all): known parameters that may be residuals as they are. Memoised.
Result<Split> split(TransformEnv& env, FunctionId f, const Mask& unknown, const Mask& force = {},
                    const Mask& pass_on = {}, SplitUse use = SplitUse::Linearize);

}  // namespace tfvm
