#pragma once
// Which values of a function show a nan that they hold: somebody who looks at the covered results for nan alone sees
// every one that these values ever held.
//
//   %p = mul %x, %y       covered: the sum is nan where the product is
//   %s = reduce_sum %p    covered: a result
//   %l = log %x           not: the select may drop it, so the pass nan_flags gives it a flag of its own
//   %z = select %c, %l, 0
//   %x                    covered, then: by the flag of %l, which is nan where %x is

#include "transforms/env.h"

namespace tfvm {

// One flag per value of `f`, of whose results those in `results` are looked at. A flag that is 0 says nothing.
Mask nan_cover(TransformEnv& env, FunctionId f, const Mask& results);

// Of a loop whose results `out` are covered: of the results of its body, those that show a nan behind the last trip
// that stood in them in any trip.
Mask loop_cover(TransformEnv& env, const Instr& loop, const Mask& out);

// Has result k of the instruction, where it is not covered, a flag of its own: may it make a nan, and hold one?
bool has_own_flag(const Tables& t, const Body& body, const Instr& in, std::uint32_t k);

// May the op give nan where no operand is nan?
bool makes_nan(Op op);

}  // namespace tfvm
