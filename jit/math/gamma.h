// lgamma: in double for both types.
//
// Sources: recurrence to an interval with a polynomial, Stirling's series (as a minimax fit) for large arguments,
// reflection for negative ones (Abramowitz and Stegun 6.1.17, 6.1.41).
#pragma once

#include "jit/math/pi_angle.h"
#include "jit/math/pow.h"

namespace tfvm::math {

/// The product that leads from gamma(2 + t), t = x - n, to gamma(x) for x < 8, as a pair; n = round(x).
template <class B>
Pair<B> recurrence_product(B b, typename B::F x, typename B::F n) {
  Pair<B> product{b.select(n == 1.0, x, b.select(n == 0.0, x * (x + 1.0), 1.0)), 0.0};
  for (int i = 1; i <= 6; ++i) {
    const auto used = n >= double(i + 2);
    const auto step = two_product(b, product.hi, x - double(i));
    product.lo = b.select(used, b.fma(product.lo, x - double(i), step.lo), product.lo);
    product.hi = b.select(used, step.hi, product.hi);
  }
  return product;
}

/// lgamma of x > 0. Below 8: lgamma(2 + t) plus or minus the logarithm of the product that the recurrence leaves.
template <class B>
Pair<B> lgamma_positive(B b, typename B::F x) {
  constexpr double half_log_2pi = 0x1.d67f1c864beb5p-1, half_log_2pi_low = -0x1.65b5a1b7ff5dfp-55;
  const auto large = x >= 8.0;
  const auto below = b.select(large, 2.0, x);
  const auto n = b.round(below);
  const auto t = below - n;
  const auto product = recurrence_product(b, below, n);
  auto log_value = log_pair(b, b.select(large, x, product.hi));
  log_value.lo = log_value.lo + product.lo / product.hi;
  const auto sign = b.select(n < 2.0, -1.0, 1.0);
  const auto base = two_sum(b, sign * log_value.hi, t * poly(b, t, kLgamma));
  // (x - 1/2)(log x - 1) - 1/2 + log(2 pi)/2 + ...
  const auto less = fast_two_sum(b, log_value.hi, typename B::F(-1.0));
  const auto head = multiply(b, two_sum(b, x, typename B::F(-0.5)), Pair<B>{less.hi, less.lo + log_value.lo});
  const auto inverse = 1.0 / x;
  const auto series = b.fma(inverse, poly(b, inverse * inverse, kStirling), half_log_2pi_low);
  const auto stirling = two_sum(b, head.hi, head.lo + ((half_log_2pi - 0.5) + series));
  const auto huge = !(x < 0x1p1000);  // where the pairs overflow
  return {b.select(large, b.select(huge, x * less.hi, stirling.hi), base.hi),
          b.select(large, b.select(huge, 0.0, stirling.lo), b.fma(sign, log_value.lo, base.lo))};
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
  const auto value = b.rare((x < 0.0) & (a < kInf<double>), positive.hi + positive.lo, [=] {
    // As pairs, for the sum nearly cancels around the zeros. Of tiny a: -log a.
    const auto tiny = a < 0x1p-500;
    const auto safe = b.select(tiny, 1.0, a);
    const auto product = multiply(b, sine_of_pair(b, pi_angle(b, safe)), Pair<B>{safe, 0.0});
    const auto none = product.hi == 0.0;  // a pole
    const auto ratio = divide(b, Pair<B>{pi, pi_low}, Pair<B>{b.select(none, 1.0, product.hi), product.lo});
    const auto log_ratio = log_pair(b, b.select(tiny, a, ratio.hi));
    const auto sum = two_sum(b, log_ratio.hi, -positive.hi);
    const auto low = (log_ratio.lo + ratio.lo / ratio.hi) - positive.lo;
    return b.select(tiny, -log_ratio.hi, sum.hi + (sum.lo + low));
  });
  const auto pole = (x <= 0.0) & (b.floor(x) == x);
  return b.select(x != x, x, b.select(pole | (a == kInf<double>), kInf<double>, value));
}

template <class B>
typename B::F lgamma(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return lgamma_f64(w, y); }, x);
}

}  // namespace tfvm::math
