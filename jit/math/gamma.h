// lgamma, digamma: in double for both types.
//
// Sources: recurrence to an interval with a polynomial, Stirling's series (as a minimax fit) for large arguments,
// reflection for negative ones (Abramowitz and Stegun 6.1.17, 6.1.41, 6.3.7, 6.3.18).
#pragma once

#include "jit/math/pow.h"
#include "jit/math/trig.h"

namespace tfvm::math {

/// lgamma of x > 0. Below 8: lgamma(2 + t) plus or minus the logarithm of the product that the recurrence leaves.
template <class B>
typename B::F lgamma_positive(B b, typename B::F x) {
  constexpr double half_log_2pi = 0x1.d67f1c864beb5p-1, half_log_2pi_low = -0x1.65b5a1b7ff5dfp-55;
  const auto large = x >= 8.0;
  const auto below = b.select(large, 2.0, x);
  const auto n = b.round(below);
  const auto t = below - n;
  auto product = b.select(n == 1.0, below, b.select(n == 0.0, below * (below + 1.0), 1.0));
  for (int i = 1; i <= 6; ++i) product = b.select(n >= double(i + 2), product * (below - double(i)), product);
  const auto log_value = log_pair(b, b.select(large, x, product));
  const auto signed_log = b.select(n < 2.0, -log_value.hi, log_value.hi);
  const auto small = b.fma(t, poly(b, t, kLgamma), signed_log);
  // (x - 1/2)(log x - 1) - 1/2 + log(2 pi)/2 + ...
  const auto less = fast_two_sum(b, log_value.hi, typename B::F(-1.0));
  const auto head = multiply(b, two_sum(b, x, typename B::F(-0.5)), Pair<B>{less.hi, less.lo + log_value.lo});
  const auto inverse = 1.0 / x;
  const auto series = b.fma(inverse, poly(b, inverse * inverse, kStirling), half_log_2pi_low);
  const auto stirling = head.hi + (head.lo + ((half_log_2pi - 0.5) + series));
  return b.select(large, b.select(x < 0x1p1000, stirling, x * less.hi), small);
}

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

/// |sin| of an angle.
template <class B>
Pair<B> sine_of_pair(B b, const Angle<B>& angle) {
  const auto parts = sin_cos(b, angle);
  const auto sine = select(b, is_odd(b, angle.n), parts.cos, parts.sin);
  const auto sum = fast_two_sum(b, sine.hi, sine.lo);
  const auto sign = sign_of(b, sum.hi);
  return {flip(b, sum.hi, sign), flip(b, sum.lo, sign)};
}

/// log |gamma(x)|: for x < 0, log(pi / (a |sin(pi a)|)) - lgamma(a) with a = -x; inf at the poles.
template <class B>
typename B::F lgamma_f64(B b, typename B::F x) {
  constexpr double pi = 2.0 * Format<double>::half_pi[0], pi_low = 2.0 * Format<double>::half_pi[1];
  const auto a = abs(b, x);
  const auto positive = lgamma_positive(b, b.select((a > 0.0) & (a < kInf<double>), a, 1.0));
  const auto value = b.rare((x < 0.0) & (a < kInf<double>), positive, [&] {
    // As pairs, for the sum nearly cancels around the zeros. Of tiny a: -log a.
    const auto tiny = a < 0x1p-500;
    const auto safe = b.select(tiny, 1.0, a);
    const auto product = multiply(b, sine_of_pair(b, pi_angle(b, safe)), Pair<B>{safe, 0.0});
    const auto none = product.hi == 0.0;  // a pole
    const auto ratio = divide(b, Pair<B>{pi, pi_low}, Pair<B>{b.select(none, 1.0, product.hi), product.lo});
    const auto log_ratio = log_pair(b, b.select(tiny, a, ratio.hi));
    const auto sum = two_sum(b, log_ratio.hi, -positive);
    return b.select(tiny, -log_ratio.hi, sum.hi + (sum.lo + (log_ratio.lo + ratio.lo / ratio.hi)));
  });
  const auto pole = (x <= 0.0) & (b.floor(x) == x);
  return b.select(x != x, x, b.select(pole | (a == kInf<double>), kInf<double>, value));
}

template <class B>
typename B::F lgamma(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return lgamma_f64(w, y); }, x);
}

/// digamma of x > 0, or with Next of x + 1. In [1, 2] a polynomial times the distance from the root, to which
/// recurrence leads from (0, 5); beyond, log(x) - 1/(2x) - ....
template <bool Next, class B>
typename B::F digamma_positive(B b, typename B::F x) {
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
  const auto small = sum.hi + b.select(abs(b, fraction) < 0x1p900, sum.lo + (base.lo + rest), 0.0);
  const auto inverse = 1.0 / b.select(large, x, 1.0);
  const auto square = inverse * inverse;
  const auto tail = b.fma(square, -poly(b, square, kDigammaTail), inverse * (Next ? 0.5 : -0.5));
  return b.select(large, log(b, x) + tail, small);
}

/// For x < 0: digamma(1 + a) + pi / tan(pi a) with a = -x, by reflection; NaN at the poles, -inf at +0, inf at -0.
template <class B>
typename B::F digamma_f64(B b, typename B::F x) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  const auto a = abs(b, x);
  const auto positive = digamma_positive<false>(b, b.select(a > 0.0, a, 1.0));
  const auto value = b.rare((x < 0.0) & (a < kInf<double>), positive, [&] {
    const auto cotangent = pi / tan_of(b, pi_angle(b, a));
    return digamma_positive<true>(b, a) + b.select(a < 0x1p-500, 1.0 / a, cotangent);
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
