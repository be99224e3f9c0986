// erf, erfc, erfinv.
//
// Sources: erfc through (1 + 2x) e^(x^2) erfc(x) as a polynomial in (x - k)/(x + k) (Shepherd and Laframboise,
// "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", 1981), the last steps in double-double; erfinv from fits in
// w = -log(1 - x^2) (Giles, "Approximating the erfinv function", 2010) and, in f64, one step of Halley's method.
#pragma once

#include "jit/math/exp.h"
#include "jit/math/log.h"

namespace tfvm::math {

inline constexpr double kErfSplit = 0.65;  ///< below: a polynomial for erf
inline constexpr double kErfcPole = 3.75;
inline constexpr float kErfcPoleF32 = 2.5F;

/// erf(x) - x for |x| <= kErfSplit.
template <class B>
typename B::F erf_tail(B b, typename B::F x) {
  return x * poly(b, x * x, kErf);
}

/// erfc(a) for kErfSplit - 0.01 <= a (f64).
template <class B>
typename B::F erfc_beyond(B b, typename B::F magnitude) {
  using F = typename B::F;
  const auto a = b.select(magnitude > 28.0, 28.0, magnitude);
  const auto q = divide(b, two_sum(b, a, F(-kErfcPole)), two_sum(b, a, F(kErfcPole)));
  auto numerator = fast_two_sum(b, F(kErfc[0]), b.fma(q.hi, poly_rest(b, q.hi, kErfc), q.lo * kErfc[1]));
  numerator.lo = numerator.lo + kErfcLow;
  const auto square = two_product(b, a, a);
  const auto e = exp_pair(b, Pair<B>{-square.hi, -square.lo});
  const auto product = multiply(b, numerator, e.value);
  const auto result = divide(b, product, fast_two_sum(b, 2.0 * a, F(1.0)));
  return scale(b, result.hi + result.lo, e.k);
}

/// The same in f32: the error of a^2 goes into the exponent, those of the quotient are made good.
template <class B>
typename B::F erfc_beyond_f32(B b, typename B::F magnitude) {
  const auto a = b.select(magnitude > 10.5F, 10.5F, magnitude);
  const auto q = (a - kErfcPoleF32) / (a + kErfcPoleF32);
  const auto p = b.fma(q, poly_rest(b, q, kErfcF32), kErfcF32Low) + kErfcF32[0];
  const auto square = two_product(b, a, a);
  const auto e = reduce_exp(b, -square.hi);
  const auto grown = expm1_reduced(b, e.r + (e.r_low - square.lo));
  const auto product = b.fma(p, grown, p), product_low = b.fma(p, grown, p - product);
  const auto under = fast_two_sum(b, 2.0F * a, typename B::F(1.0F));
  const auto inverse = 1.0F / under.hi, quotient = product * inverse;
  const auto rest = b.fma(-quotient, under.hi, product) + (product_low - quotient * under.lo);
  return scale(b, b.fma(rest, inverse, quotient), e.k.i);
}

template <class B>
typename B::F erf_f64(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto size = b.select(a < kErfSplit, a + erf_tail(b, a), 1.0 - erfc_beyond(b, a));
  return flip(b, size, sign_of(b, x));
}

/// erfc for any x from that of |x| and erf(x) - x, each where it holds.
template <class B>
typename B::F erfc_of(B b, typename B::F x, typename B::F beyond, typename B::F tail) {
  using T = typename B::Scalar;
  const auto far = b.select(x < T(0), T(2) - beyond, beyond);
  const auto head = fast_two_sum(b, typename B::F(T(1)), -x);
  return b.select(abs(b, x) < T(kErfSplit), head.hi + (head.lo - tail), far);
}

/// A polynomial up to 1, then 1 - e^(x p(x)).
template <class B>
typename B::F erf_f32(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto z = a * a;
  const auto small = b.fma(a, poly(b, z, kErfF32), a);
  const auto c = b.select(a > 4.0F, 4.0F, a);
  const auto e = reduce_exp(b, c * poly(b, c, kLogErfcF32));  // at least -18
  const auto large = b.fma(-(1.0F + expm1_reduced(b, e.r)), power_of_two(b, e.k.i), 1.0F);
  return flip(b, b.select(a > 1.0F, large, small), sign_of(b, x));
}

template <class B>
typename B::F erf(B b, typename B::F x) {
  if constexpr (sizeof(typename B::Scalar) == 8) {
    return erf_f64(b, x);
  } else {
    return erf_f32(b, x);
  }
}

template <class B>
typename B::F erfc(B b, typename B::F x) {
  if constexpr (sizeof(typename B::Scalar) == 8) {
    return erfc_of(b, x, erfc_beyond(b, abs(b, x)), erf_tail(b, x));
  } else {
    return erfc_of(b, x, erfc_beyond_f32(b, abs(b, x)), x * poly(b, x * x, kErfF32));
  }
}

/// erfinv of |x| < 1 to about 2^-33.
template <class B>
typename B::F erfinv_guess(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto w = -log(b, (1.0 - a) * (1.0 + a));
  const auto near = poly(b, w - 3.0, kErfinv);
  const auto root = b.sqrt(b.select(w > 37.0, 37.0, w));
  return x * b.select(w < 6.0, near, poly(b, root - 4.25, kErfinvTail));
}

/// y - d / (1 - y d), d = (erf(y) - x) / erf'(y); the difference is taken on the side of erfc where x is large.
template <class B>
typename B::F erfinv_f64(B b, typename B::F x) {
  constexpr double half_root_pi = 0x1.c5bf891b4ef6bp-1;
  const auto a = abs(b, x);
  const auto y = erfinv_guess(b, a);
  const auto beyond = erfc_beyond(b, y);
  const auto difference = b.select(y < kErfSplit, (y - a) + erf_tail(b, y), (1.0 - a) - beyond);
  const auto d = difference * exp(b, y * y) * half_root_pi;
  const auto size = y - d / (1.0 - y * d);
  const auto limits = b.select(a == 1.0, kInf<double>, kNaN<double>);
  return flip(b, b.select(a < 1.0, size, limits), sign_of(b, x));
}

template <class B>
typename B::F erfinv(B b, typename B::F x) {
  if constexpr (sizeof(typename B::Scalar) == 8) {
    return erfinv_f64(b, x);
  } else {
    return b.in_f64(
        [](auto w, auto y) {
          const auto a = abs(w, y);
          const auto limits = w.select(a == 1.0, kInf<double>, kNaN<double>);
          return w.select(a < 1.0, erfinv_guess(w, y), flip(w, limits, sign_of(w, y)));
        },
        x);
  }
}

}  // namespace tfvm::math
