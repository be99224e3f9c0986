#pragma once
// Kernels that only move elements become loop nests that pick them, so that they fuse with what is around them.
//
//   pad x, 0 {low=[1], high=[0]}     load x - 1 [1] if i >= 1
//   take x, [2, 0, 2]                load x [0] at t, where t = load [2, 0, 2] [1]
//   take x, i {mode="clip"}          load x [0] at min (max (load i [1]), 0), n - 1
//   concat x, y                      select (load y - n [1] if i >= n), (load x [1] if i < n)

#include "vm/plan/lower.h"

namespace tfvm {

// Pads without holes, take, take_along and gather, and concats of a few pieces, of dtypes that have machine code. In
// mode "error" a check of the indices stays, a step that only reads them; the loads are within bounds wherever they
// run. Known values are computed on the way; see known.h.
void pick_in_nests(const Tables& t, const FlatBody& flat, Lowered& low);

}  // namespace tfvm
