#pragma once
// transpose: a function that is linear in some parameters becomes the function from cotangents of its results to
// cotangents of those parameters. Cotangents that are zero for certain are symbolic: no parameter, no result, no code.
//
//   func @l(%c: f64, %t: f64) { %u = zmul %c, %t   %v = add %u, %t   ret %v }
//   transpose(@l) for %t:
//     func (%c, %v.ct) { %u.ct = zmul %c, %v.ct   %t.ct = add %v.ct, %u.ct   ret %t.ct }
//
// Cotangents are summed in the order of the instructions from the last to the first.

#include "transforms/functions.h"

namespace tfvm {

struct Transposed {
  FunctionId f;  // (other parameters…, cotangents of results in `cts`…) -> cotangents of linear parameters in `in`…
  Mask in;       // per linear parameter
};

// `linear`: per parameter. `cts`: which results have a cotangent. `force` (empty = none): linear parameters whose
// cotangent is wanted even if it is zero. Errors: an instruction that is not linear, by name, with the user's line.
// Memoised.
Result<Transposed> transpose(TransformEnv& env, FunctionId f, const Mask& linear, const Mask& cts,
                             const Mask& force = {});

// The same, appended to a builder whose parent is `f` or the parent of `f`: values for the other parameters and
// cotangents of the results (kNoValue = zero) in, cotangents of the linear parameters out.
std::vector<ValueId> transpose_into(TransformEnv& env, Builder& b, FunctionId f, const Mask& linear,
                                    std::span<const ValueId> known, std::span<const ValueId> cts, Kin kin);

}  // namespace tfvm
