// sinh, cosh, tanh. (Their inverses: inverse_hyperbolic.h.)
#pragma once

#include "jit/math/exp.h"

namespace tfvm::math {

/// A polynomial for |x| <= 1, else (e^x - e^-x) / 2. Both halves come from e^x / 2, which is finite wherever sinh is.
template <class B>
typename B::F sinh(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto a = abs(b, x);
  const auto z = a * a;
  const auto small = b.fma(a * z, poly(b, z, kSinh<T>), a);
  const auto half = exp_shifted(b, a, -1);
  const auto magnitude = b.select(a > T(1), half - T(0.25) / half, small);
  return flip(b, magnitude, sign_of(b, x));
}

template <class B>
typename B::F cosh(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto half = exp_shifted(b, abs(b, x), -1);
  return half + T(0.25) / half;
}

/// (e^2x - 1) / (e^2x + 1) = t / (t + 2) with t = expm1(2x).
template <class B>
typename B::F tanh(B b, typename B::F x) {
  using T = typename B::Scalar;
  constexpr T saturated = T(sizeof(T) == 4 ? 10 : 20);
  const auto a = abs(b, x);
  const auto e = expm1_scaled(b, T(2) * b.select(a > saturated, saturated, a));
  const auto factor = power_of_two(b, e.k);
  const auto t = e.value.hi * factor;
  const auto t_low = e.value.lo * factor;
  const auto under = two_sum(b, typename B::F(T(2)), t);
  const auto quotient = divide(b, Pair<B>{t, t_low}, Pair<B>{under.hi, under.lo + t_low});
  return flip(b, quotient.hi + quotient.lo, sign_of(b, x));
}

}  // namespace tfvm::math
