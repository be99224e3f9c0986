// digamma: in double for both types.
//
// Sources: recurrence to an interval with a polynomial, the asymptotic series (as a minimax fit) for large arguments,
// reflection for negative ones (Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18).
#pragma once

#include "jit/math/log.h"
#include "jit/math/pi_angle.h"
#include "jit/math/pow.h"

namespace tfvm::math {

/// digamma of x > 0, or with Next of x + 1. In [1, 2] a polynomial times the distance from the root, to which
/// recurrence leads from (0, 5); beyond, log(x) - 1/(2x) - ....
template <bool Next, class B>
Pair<B> digamma_positive(B b, typename B::F x) {
  const auto large = x >= 5.0;
  const auto below = b.select(large, 1.5, x);
  const auto n = b.floor(below);
  const auto t = b.select(n == 0.0, below + 1.0, below - (n - 1.0));
  // t of x < 1 is rounded: its error goes into the distance.
  const auto lost = b.select(n == 0.0, below - (t - 1.0), 0.0);
  const auto distance = two_sum(b, t - kDigammaRoot, lost - kDigammaRootLow);
  const auto u = t - 1.5;
  auto slope = fast_two_sum(b, typename B::F(kDigamma[0]), u * poly_rest(b, u, kDigamma));
  slope.lo = slope.lo + kDigammaLow;
  const auto base = multiply(b, distance, slope);
  // The sum of 1/(x - k), k = 1 .. n - 1, as one fraction; of n = 0: -1/x. With Next, 1/x more.
  auto over = b.select(n == 0.0, Next ? 0.0 : -1.0, Next ? 1.0 : 0.0);
  auto under = b.select(n == 0.0, Next ? 1.0 : below, Next ? below : 1.0);
  for (int k = 1; k <= 3; ++k) {
    const auto used = n >= double(k + 1);
    const auto factor = below - double(k);
    over = b.select(used, b.fma(over, factor, under), over);
    under = b.select(used, under * factor, under);
  }
  const auto fraction = over / under;
  const auto rest = b.fma(-fraction, under, over) / under;
  const auto sum = two_sum(b, base.hi, fraction);
  const auto small_low = b.select(abs(b, fraction) < 0x1p900, sum.lo + (base.lo + rest), 0.0);
  const auto inverse = 1.0 / b.select(large, x, 1.0);
  const auto square = inverse * inverse;
  const auto tail = b.fma(square, -poly(b, square, kDigammaTail), inverse * (Next ? 0.5 : -0.5));
  // The reflection cancels, so it wants the logarithm's low part too.
  const auto log_value = Next ? log_pair(b, x) : Pair<B>{log(b, x), 0.0};
  return {b.select(large, log_value.hi, sum.hi), b.select(large, log_value.lo + tail, small_low)};
}

/// pi / tan of an angle.
template <class B>
Pair<B> pi_cotangent(B b, const Angle<B>& angle) {
  constexpr double pi = 2.0 * Format<double>::half_pi[0], pi_low = 2.0 * Format<double>::half_pi[1];
  const auto parts = sin_cos(b, angle);
  const auto odd = is_odd(b, angle.n);
  const auto over = select(b, odd, parts.sin, parts.cos), under = select(b, odd, parts.cos, parts.sin);
  const auto quotient = divide(b, fast_two_sum(b, over.hi, over.lo), fast_two_sum(b, under.hi, under.lo));
  const auto product = multiply(b, quotient, Pair<B>{pi, pi_low});
  const auto sign = b.select(odd, -1.0, 1.0);
  return {sign * product.hi, sign * product.lo};
}

/// For x < 0: digamma(1 + a) + pi / tan(pi a) with a = -x, by reflection; NaN at the poles, -inf at +0, inf at -0.
template <class B>
typename B::F digamma_f64(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto positive = digamma_positive<false>(b, b.select(a > 0.0, a, 1.0));
  const auto value = b.rare((x < 0.0) & (a < kInf<double>), positive.hi + positive.lo, [=] {
    const auto next = digamma_positive<true>(b, a);
    const auto cotangent = pi_cotangent(b, pi_angle(b, b.select(a < 0x1p-500, 0.25, a)));
    const auto sum = two_sum(b, next.hi, cotangent.hi);
    return b.select(a < 0x1p-500, 1.0 / a, sum.hi + (sum.lo + (next.lo + cotangent.lo)));
  });
  const auto pole = (x < 0.0) & (b.floor(x) == x);
  const auto zero = flip(b, typename B::F(-kInf<double>), sign_of(b, x));
  return b.select(x != x, x, b.select(x == 0.0, zero, b.select(pole, kNaN<double>, value)));
}

template <class B>
typename B::F digamma(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return digamma_f64(w, y); }, x);
}

}  // namespace tfvm::math
