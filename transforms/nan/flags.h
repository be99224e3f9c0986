#pragma once
// The pass nan_flags: one more result, i32, not 0 where a value or an input was nan that the other results do not
// show (cover.h).
//
//   func @f(%x, %c) { %l = log %x; %z = select %c, %l, 0; ret %z }
//   func @f(%x, %c) { %l = log %x; %z = select %c, %l, 0
//                     %n = isnan %l; %i = cast %n : i32; %b = reduce_max %i; ret %z, %b }
//
// Within loops flags have the shapes of what they are about and are carried, so that a body stays elementwise over its
// lanes; a while carries its predicate, too, as its condition may make a nan.

#include "transforms/env.h"

namespace tfvm {

// `f` itself where its results show all. Of tapes it is not known what they show; of the function of a `reduce` only
// its results are looked at.
Result<FunctionId> nan_flags(TransformEnv& env, FunctionId f);

}  // namespace tfvm
