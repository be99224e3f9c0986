#pragma once
// Of the steps of a linear part: a product with a factor that is known, times a number, is one product, whose factor
// the known part makes. Linear parts are what loops over cotangents wait for.
//
//   %u.t = zmul %c, %x.t   %v.t = mul %u.t, -9.81     ->   known: %k = mul %c, -9.81   linear: %v.t = zmul %k, %x.t
//
// %k is saved in the place of %c, so there are no more residuals: not done where %c is a parameter, or used by another
// step, or %u.t is. f32 and f64, numbers from 2^-16 to 2^16: a factor that is not about to leave the range stays
// within.

#include "transforms/split/rules.h"

namespace tfvm {

// `known`: the known part, still open; `map`: values of the source there; `wanted`: per result of the source, the
// linear part gives it. All steps are needed; products that no step needs any more are left to be dropped.
void compose_coefficients(Builder& known, const Body& source, const std::vector<ValueId>& map, const Mask& wanted,
                          std::vector<SplitStep>& steps);

}  // namespace tfvm
