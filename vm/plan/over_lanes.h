#pragma once
// Small products, and what is around them, as one nest over the dims that they share: its lanes.
//
//   c = matmul a, b           f32[1000,4,4]     loops [1000]: 32 loads, 64 fma, and the stores of what is read later
//   d = add c, bias
//
// One product of a batch has too few elements for a matrix product's blocks, and its dims are too short for vectors; a
// thousand of them have lanes. Values between the steps stay in registers.

#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

// Products over small dims behind one or more dims of at least 8 elements, with the nests, concats and pads that give
// them operands or take what they give, become nests: as loop_body.h does for a loop's body, in the same order of
// additions. Each is kept with its source, its item a step that fusion doesn't know, until put_lane_nests.
void over_lanes(const Tables& t, const FlatBody& flat, const Plan& plan, Lowered& low);

void put_lane_nests(std::vector<FuseItem>& items, Lowered& low);

}  // namespace tfvm
