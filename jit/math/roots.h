// sqrt, rsqrt, cbrt, hypot, reciprocal, square.
#pragma once

#include "jit/math/coefficients_f64.h"
#include "jit/math/extended.h"

namespace tfvm::math {

template <class B>
typename B::F sqrt(B b, typename B::F x) {
  return b.sqrt(x);
}

template <class B>
typename B::F rsqrt(B b, typename B::F x) {
  return typename B::Scalar(1) / b.sqrt(x);
}

template <class B>
typename B::F reciprocal(B, typename B::F x) {
  return typename B::Scalar(1) / x;
}

template <class B>
typename B::F square(B, typename B::F x) {
  return x * x;
}

/// A polynomial for a^(-1/3), |x| = a 2^(3q), 1/2 <= a < 4; one step of fourth order (the series of (1 - h)^(-1/3)),
/// and one Newton step whose residual is exact.
template <class B>
typename B::F cbrt_f64(B b, typename B::F x) {
  const auto size = abs(b, x);
  const auto denormal = size < std::numeric_limits<double>::min();
  const auto scaled = b.select(denormal, size * 0x1p54, size);
  const auto exponent = b.from_bits(shr(b.bits(scaled), 52) | bits_of<B>(0x1p52)) - (0x1p52 + 1023.0);
  const auto q = nearest(b, exponent * (1.0 / 3));
  const auto mantissa = b.from_bits((b.bits(scaled) & bits_of<B>(0x0.fffffffffffffp-1022)) | bits_of<B>(1.0));
  const auto a = mantissa * power_of_two(b, nearest(b, exponent - 3.0 * q.f).i);
  const auto y = poly(b, a, kCbrt);
  const auto h = b.fma(-a * y, y * y, 1.0);
  const auto step = b.fma(b.fma(h, 14.0 / 81, 2.0 / 9), h, 1.0 / 3);
  const auto inverse = b.fma(y * h, step, y);
  const auto t = a * inverse * inverse;
  const auto square = two_product(b, t, t);
  const auto residual = b.fma(-square.hi, t, a) - square.lo * t;
  const auto root = b.fma(residual * (1.0 / 3), inverse * inverse, t);
  const auto result = root * power_of_two(b, q.i) * b.select(denormal, 0x1p-18, 1.0);
  const auto finite = b.select((size > 0.0) & (size < kInf<double>), result, size);
  return flip(b, finite, sign_of(b, x));
}

template <class B>
typename B::F cbrt(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return cbrt_f64(w, y); }, x);
}

/// Scaled by powers of two, so that no square overflows, nor underflows where it counts. inf beats NaN.
template <class B>
typename B::F hypot_f64(B b, typename B::F x, typename B::F y) {
  const auto a = abs(b, x), c = abs(b, y);
  const auto most = b.select(a > c, a, c);
  const auto huge = most > 0x1p500, tiny = most < 0x1p-500;
  const auto down = b.select(huge, 0x1p-600, b.select(tiny, 0x1p600, 1.0));
  const auto up = b.select(huge, 0x1p600, b.select(tiny, 0x1p-600, 1.0));
  const auto s = a * down, t = c * down;
  const auto result = b.sqrt(b.fma(s, s, t * t)) * up;
  return b.select((a == kInf<double>) | (c == kInf<double>), kInf<double>, result);
}

template <class B>
typename B::F hypot(B b, typename B::F x, typename B::F y) {
  return b.in_f64([](auto w, auto s, auto t) { return hypot_f64(w, s, t); }, x, y);
}

}  // namespace tfvm::math
