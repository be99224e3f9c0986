#pragma once
// `reduce @f x… init… {axes}` as a scan: the reduced dims, flattened in row-major order, become the steps, and @f is
// batched over the elements that stay. Transforms and the plan see only the scan.

#include "transforms/env.h"

namespace tfvm {

// `xs` have equal shapes. Each init is a scalar, or has the leading kept dim of xs (an init per lane). Gives one result
// per x, of the kept shape.
std::vector<ValueId> lower_reduce_fn(TransformEnv& env, Builder& b, FunctionId f, std::span<const ValueId> xs,
                                     std::span<const ValueId> inits, Ints axes);

}  // namespace tfvm
