#pragma once
// jvp: the function with its derivative in the direction of tangents. Tangents that are zero for certain are symbolic:
// they have no parameter, no result and no code.
//
//   func @f(%x: f64, %y: f64) { %s = sin %x   %p = mul %s, %y   ret %p }
//   jvp(@f) with %x active:
//     func (%x, %y, %x.t) { %s = sin %x   %c = cos %x   %s.t = zmul %c, %x.t   %p = mul %s, %y
//                           %p.t = zmul %s.t, %y   ret %p, %p.t }

#include "transforms/env.h"

namespace tfvm {

struct Jvp {
  FunctionId f;  // (parameters…, tangents of active parameters…) -> (results…, tangents of results in `out`…)
  Mask out;
};

// How far a derivative must be defined: `Linearize` is the first step of reverse mode, where functions with a
// custom_vjp become calls that can only be transposed; in `Forward` they are an error.
enum class JvpMode : std::uint8_t { Forward, Linearize };

// `active`: which parameters have a tangent (differentiable ones only). Results get a tangent where they depend on one,
// or where `force` (empty = none) asks for it. Errors: an op without a rule, by name, with the user's line. Memoised.
Result<Jvp> jvp(TransformEnv& env, FunctionId f, const Mask& active, const Mask& force = {},
                JvpMode mode = JvpMode::Forward);

}  // namespace tfvm
