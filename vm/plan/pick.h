#pragma once
// Kernels that only move elements become loop nests that pick them, so that they fuse with what is around them.
//
//   pad x, 0 {low=[1], high=[0]}     load x - 1 [1] if i >= 1
//   take x, [2, 0, 2]                load x [0] at t, where t = load [2, 0, 2] [1]
//   concat x, y                      select (load y - n [1] if i >= n), (load x [1] if i < n)

#include "vm/plan/lower.h"

namespace tfvm {

// Pads without holes, takes of single elements at places that are known or can't fail, and concats of a few pieces, of dtypes that have machine code. Known values are
// computed on the way; see known.h.
void pick_in_nests(const Tables& t, const FlatBody& flat, Lowered& low);

}  // namespace tfvm
