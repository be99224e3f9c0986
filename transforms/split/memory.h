#pragma once
// {memory=BYTES} on a loop whose residuals would need more: the loop becomes a loop over segments, each a checkpoint.
//
//   scan @step {length=n, memory=b}  ->  scan over k segments { checkpoint { scan @step {length=m} } }, then the rest
//
// The backward pass keeps the carries at the start of each segment and the residuals of one segment; what is left of
// the budget goes to the inner scan, which is split in the same way where it must be. Every step is run once more for
// each level. Made of loops and checkpoints alone, it passes through all transforms.

#include "transforms/split/rules.h"

namespace tfvm {

struct Loop {
  FunctionId body;
  std::size_t first;  // operands before the constants of the body: those of `cond`, the count of trips
  std::size_t consts, carries, xs, ys;
};

// A function of the loop's operands that gives its results, to be called instead; none where the loop may stay as it
// is. `unknown`: of the body's parameters; `s`: the split of the body.
FunctionId within_memory(SplitCtx& c, const Loop& loop, const Mask& unknown, const Split& s);

}  // namespace tfvm
