// pow.
//
// Source: x^y = e^(y log x) with log x as a sum of two floats, to about 2^-66 relative (f64), since y log x may be as
// large as 745 and its absolute error becomes the result's relative one; log by the atanh series with its two leading
// terms in double-double. f32 does the same in f64, where plain arithmetic is enough. Limits as C99 F.9.4.4.
//
// y = 2, 3, 1/2, 1 and -1 are products, the root, x and 1/x, so that a program with such a constant may say so instead
// (bytecode/simplify.cpp) and get the same bits.
#pragma once

#include "jit/math/exp.h"
#include "jit/math/log.h"

namespace tfvm::math {

/// log(x) = hi + lo for finite x > 0 (f64).
template <class B>
Pair<B> log_pair(B b, typename B::F x) {
  using F = typename B::F;
  constexpr double third = 0x1.5555555555555p-2, third_low = 0x1.5555555555555p-56;
  const auto part = reduce_log(b, x);
  const auto s = divide(b, Pair<B>{part.m - 1.0, 0.0}, two_sum(b, part.m, F(1.0)));
  const auto z = multiply(b, s, s);
  const auto z_third = multiply(b, z, Pair<B>{third, third_low});
  const auto tail = b.fma(z.hi * z.hi, poly(b, z.hi, kAtanhTail), z_third.lo);
  const auto factor = fast_two_sum(b, z_third.hi, tail);
  const auto series = multiply(b, s, factor);
  const auto atanh_sum = fast_two_sum(b, s.hi, series.hi);
  const auto low = 2.0 * (atanh_sum.lo + (series.lo + s.lo));
  const auto sum = fast_two_sum(b, part.e * Format<double>::ln2_high, 2.0 * atanh_sum.hi);
  // ln2_low has 53 more bits, and e at most 11: its product's own rounding is below 2^-75.
  return fast_two_sum(b, sum.hi, sum.lo + b.fma(part.e, Format<double>::ln2_low, low));
}

/// |x|^y for finite x != 0 and finite y.
template <class B>
typename B::F magnitude_pow_f64(B b, typename B::F a, typename B::F y) {
  const auto log_a = log_pair(b, a);
  const auto bound = bounded(b, y, -0x1p65, 0x1p65);  // beyond, the result is 0, 1 or inf already
  const auto product = two_product(b, bound, log_a.hi);
  const auto low = b.fma(bound, log_a.lo, product.lo);
  const auto hi = bounded(b, product.hi, -750.0, 715.0);
  const auto e = exp_pair(b, Pair<B>{hi, b.select(hi == product.hi, low, 0.0)});
  return scale(b, e.value.hi + e.value.lo, e.k);
}

/// The same to f32's accuracy, for a and y that were f32.
template <class B>
typename B::F magnitude_pow_short(B b, typename B::F a, typename B::F y) {
  const auto part = reduce_log(b, a);
  const auto s = (part.m - 1.0) / (part.m + 1.0);
  const auto log2_a = b.fma(s, poly(b, s * s, kLog2Short), part.e);
  const auto k = nearest(b, bounded(b, y * log2_a, -200.0, 200.0));
  const auto r = bounded(b, y * log2_a, -200.0, 200.0) - k.f;
  return poly(b, r, kExp2Short) * power_of_two(b, k.i);
}

/// `finite`, or the product or root that is meant by the exponents most written. a^3 rounds twice: 1.5 ulp.
template <class B>
typename B::F plain_power(B b, typename B::F a, typename B::F y, typename B::F finite) {
  using T = typename B::Scalar;
  const auto square = a * a;
  auto result = b.select(y == T(2), square, finite);
  result = b.select(y == T(3), square * a, result);
  return b.select(y == T(0.5), b.sqrt(a), result);
}

/// C99's limits around `finite`, the magnitude for finite x != 0 and finite y.
template <class B>
typename B::F pow_limits(B b, typename B::F x, typename B::F y, typename B::F finite) {
  using T = typename B::Scalar;
  const auto a = abs(b, x), y_size = abs(b, y);
  const auto whole = (b.trunc(y) == y) & (y_size < kInf<T>);
  const auto half_y = y * T(0.5);
  const auto odd = whole & (b.trunc(half_y) != half_y);
  const auto rises = y > T(0);
  const auto ends = b.select(rises, a, T(1) / a);  // for a = 0 and a = inf, and for y = 1 and y = -1
  const auto one_ended = (a == T(0)) | (a == kInf<T>) | (y_size == T(1));
  auto result = b.select(one_ended, ends, finite);
  const auto unbounded = b.select(a == T(1), T(1), b.select((a > T(1)) == rises, kInf<T>, T(0)));
  result = b.select(y_size == kInf<T>, unbounded, result);
  result = b.select((x < T(0)) & (a < kInf<T>)&(y_size < kInf<T>)&!whole, kNaN<T>, result);
  result = b.select(odd, flip(b, result, sign_of(b, x)), result);
  result = b.select((x != x) | (y != y), kNaN<T>, result);
  return b.select((y == T(0)) | (x == T(1)), T(1), result);
}

template <class B>
typename B::F pow(B b, typename B::F x, typename B::F y) {
  if constexpr (sizeof(typename B::Scalar) == 8) {
    const auto a = abs(b, x);
    return pow_limits(b, x, y, plain_power(b, a, y, magnitude_pow_f64(b, a, y)));
  } else {
    const auto a = abs(b, x);
    const auto finite = b.in_f64([](auto w, auto s, auto t) { return magnitude_pow_short(w, s, t); }, a, y);
    return pow_limits(b, x, y, plain_power(b, a, y, finite));
  }
}

}  // namespace tfvm::math
