#pragma once
// gradcheck: derivatives beside differences of the function's values.
//
// For each float output and each input in argnums, jacfwd and jacrev (first order) and those of jacrev (second order)
// stand against central differences, element by element, in f64. Step sizes are the cube root of the dtype's epsilon
// times max(1, |x|), and a quarter of that (Nocedal and Wright, Numerical Optimization, section 8.1). Where the slopes
// on the two sides disagree and don't come closer as the step shrinks, or grow as it does, or one is not finite, there
// is a *kink*: it is counted, and only the two modes must agree there.

#include "transforms/compositions.h"

namespace tfvm {

struct GradcheckParams {
  std::vector<std::int64_t> argnums;
  bool all_inputs = true;              // argnums are all float inputs
  std::int64_t order = 2;              // the highest order that is checked: 1 or 2
  double eps = 0, rtol = 0, atol = 0;  // 0: by dtype
  bool details = false;
};

// (inputs…) -> (error f64, kinks i64). `error` is the largest |derivative − difference| / (atol + rtol·max(|…|, |…|) +
// rounding), so at most 1 where they agree, and inf where a derivative is NaN. With `details` there follow, for each
// order, output and input: forward, reverse, difference (f64, out dims + in dims) and kink (bool). Errors: an input in
// argnums or an output that is no f32 or f64; what keeps reverse mode from being built. A function with a custom_vjp is
// checked in reverse mode only.
Result<FunctionId> gradcheck_transform(TransformEnv& env, FunctionId f, const GradcheckParams& p);

}  // namespace tfvm
