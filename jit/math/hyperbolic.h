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

/// A polynomial below 5/8, else 1 - 2 / (e^2x + 1), where errors of e^2x count less than half.
template <class B>
typename B::F tanh_f32(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto z = a * a;
  const auto small = b.fma(a * z, poly(b, z, kTanhF32), a);
  const auto e = reduce_exp(b, 2.0F * b.select(a > 10.0F, 10.0F, a));
  const auto under = b.fma(1.0F + expm1_reduced(b, e.r), power_of_two(b, e.k.i), 1.0F);
  return flip(b, b.select(a < 0.625F, small, 1.0F - 2.0F / under), sign_of(b, x));
}

/// f64: (e^2x - 1) / (e^2x + 1) = t / (t + 2) with t = expm1(2x).
template <class B>
typename B::F tanh(B b, typename B::F x) {
  using T = typename B::Scalar;
  if constexpr (sizeof(T) == 4) {
    return tanh_f32(b, x);
  } else {
    constexpr T saturated = 20;
    const auto a = abs(b, x);
    const auto e = expm1_scaled(b, T(2) * b.select(a > saturated, saturated, a));
    const auto factor = power_of_two(b, e.k);
    const auto t = e.value.hi * factor;
    const auto t_low = e.value.lo * factor;
    const auto under = two_sum(b, typename B::F(T(2)), t);
    const auto quotient = divide(b, Pair<B>{t, t_low}, Pair<B>{under.hi, under.lo + t_low});
    return flip(b, quotient.hi + quotient.lo, sign_of(b, x));
  }
}

}  // namespace tfvm::math
