// Angles that are pi times a number, for the reflections of lgamma and digamma (f64).
#pragma once

#include "jit/math/trig.h"

namespace tfvm::math {

/// pi r as a pair for |r| <= 1/4.
template <class B>
Pair<B> times_pi(B b, typename B::F r) {
  return multiply(b, Pair<B>{r, typename B::F(0.0)},
                  Pair<B>{2.0 * Format<double>::half_pi[0], 2.0 * Format<double>::half_pi[1]});
}

/// The angle pi a, a >= 0.
template <class B>
Angle<B> pi_angle(B b, typename B::F a) {
  const auto inside = a - 2.0 * b.floor(a * 0.5);  // exact, the same angle
  const auto n = nearest(b, inside * 2.0);
  const auto r = times_pi(b, inside - 0.5 * n.f);
  return {n.i, r.hi, r.lo};
}

}  // namespace tfvm::math
