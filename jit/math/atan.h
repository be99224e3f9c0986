// asin, acos, atan, atan2.
//
// Source: atan by shifting with tan(a - c) = (tan a - tan c) / (1 + tan a tan c) to |t| <= tan(pi/8) (Cody and Waite);
// asin beyond 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
#pragma once

#include "jit/math/coefficients_f32.h"
#include "jit/math/coefficients_f64.h"
#include "jit/math/extended.h"

namespace tfvm::math {

template <class T>
inline constexpr T kTanPi8 = T(0x1.a827999fcef32p-2);
template <class T>
inline constexpr T kTan3Pi8 = T(0x1.3504f333f9de6p+1);

/// asin(s) - s for 0 <= s <= 1/2, z = s^2.
template <class B>
typename B::F asin_tail(B b, typename B::F s, typename B::F z) {
  return s * z * poly(b, z, kAsin<typename B::Scalar>);
}

/// For a = |x| > 1/2: sqrt((1 - a) / 2), else a; with its square.
template <class B>
struct HalfAngle {
  typename B::M large;
  typename B::F root, square;
};

template <class B>
HalfAngle<B> half_angle(B b, typename B::F a) {
  using T = typename B::Scalar;
  const auto large = a > T(0.5);
  const auto square = b.select(large, T(0.5) * (T(1) - a), a * a);
  return {large, b.select(large, b.sqrt(square), a), square};
}

template <class B>
typename B::F asin(B b, typename B::F x) {
  using T = typename B::Scalar;
  using F = typename B::F;
  constexpr auto half_pi = Format<T>::half_pi;
  const auto h = half_angle(b, abs(b, x));
  const auto tail = asin_tail(b, h.root, h.square);
  const auto root = square_root(b, Pair<B>{h.square, T(0)});
  const auto sum = fast_two_sum(b, F(half_pi[0]), T(-2) * h.root);
  const auto large = sum.hi + (sum.lo + (half_pi[1] - T(2) * (root.lo + tail)));
  return flip(b, b.select(h.large, large, h.root + tail), sign_of(b, x));
}

template <class B>
typename B::F acos(B b, typename B::F x) {
  using T = typename B::Scalar;
  constexpr auto half_pi = Format<T>::half_pi;
  const auto h = half_angle(b, abs(b, x));
  const auto tail = asin_tail(b, h.root, h.square);
  const auto sign = sign_of(b, x);
  const auto small = half_pi[0] - (flip(b, h.root, sign) - (half_pi[1] - flip(b, tail, sign)));
  const auto twice = T(2) * (h.root + tail);
  const auto large = b.select(x < T(0), T(2) * half_pi[0] - (twice - T(2) * half_pi[1]), twice);
  return b.select(h.large, large, small);
}

/// base + atan(t) for |t| <= tan(pi/8); base = hi + lo.
template <class B>
typename B::F shifted_atan(B b, Pair<B> base, Pair<B> t) {
  const auto z = t.hi * t.hi;
  const auto tail = b.fma(t.hi * z, poly(b, z, kAtan<typename B::Scalar>), t.lo);
  return base.hi + (t.hi + (base.lo + tail));
}

template <class B>
typename B::F atan(B b, typename B::F x) {
  using T = typename B::Scalar;
  constexpr auto half_pi = Format<T>::half_pi;
  const auto size = abs(b, x);
  const auto a = b.select(size > T(0x1p60), T(0x1p60), size);  // pi/2 from there on
  const auto middle = a > kTanPi8<T>;
  const auto large = a > kTan3Pi8<T>;
  const auto over = b.select(large, T(-1), b.select(middle, a - T(1), a));
  const auto sum = two_sum(b, b.select(middle, a, T(0)), b.select(large, T(0), T(1)));
  const auto t = divide(b, Pair<B>{over, T(0)}, sum);
  const auto steps = b.select(large, T(1), b.select(middle, T(0.5), T(0)));
  const auto result = shifted_atan(b, {steps * half_pi[0], steps * half_pi[1]}, t);
  return flip(b, result, sign_of(b, x));
}

/// The magnitude of atan2(y, x) for a = |y| and c = |x|, neither NaN, not both infinite; C99's limits come by
/// themselves.
template <class B>
typename B::F quadrant_angle(B b, typename B::F a, typename B::F c, typename B::I x_sign) {
  using T = typename B::Scalar;
  constexpr auto half_pi = Format<T>::half_pi;
  const auto middle = a > kTanPi8<T> * c;
  const auto large = a > kTan3Pi8<T> * c;
  const auto over = two_sum(b, a, b.select(middle, -c, T(0)));
  const auto under = two_sum(b, b.select(middle, a, T(0)), c);
  const Pair<B> num{b.select(large, -c, over.hi), b.select(large | !middle, T(0), over.lo)};
  const Pair<B> den{b.select(large, a, under.hi), b.select(large | !middle, T(0), under.lo)};
  const auto zero = den.hi == T(0);
  auto t = divide(b, num, Pair<B>{b.select(zero, T(1), den.hi), den.lo});
  // Where the quotient is tiny the rest may underflow, so its quotient is noise.
  t.lo = b.select(abs(b, t.hi) > T(0x1p-60), t.lo, T(0));
  // For x < 0 the angle is pi minus that of |x|.
  const auto forward = b.select(large, T(1), b.select(middle, T(0.5), T(0)));
  const auto steps = b.select(x_sign == typename B::I(kSignBit<B>), T(2) - forward, forward);
  return shifted_atan(b, {steps * half_pi[0], steps * half_pi[1]}, {flip(b, t.hi, x_sign), flip(b, t.lo, x_sign)});
}

template <class B>
typename B::F atan2_f64(B b, typename B::F y, typename B::F x) {
  using T = typename B::Scalar;
  const auto a = abs(b, y), c = abs(b, x);
  const auto infinite = (a == kInf<T>)&(c == kInf<T>);
  // Both are scaled off the ends of the range; two infinities stand for equal magnitudes.
  const auto most = b.select(a > c, a, c);
  const auto factor = b.select(most > T(0x1p900), T(0x1p-200), b.select(most < T(0x1p-700), T(0x1p300), T(1)));
  const auto s = b.select(infinite, T(1), a * factor), t = b.select(infinite, T(1), c * factor);
  const auto angle = quadrant_angle(b, s, t, sign_of(b, x));
  const auto unordered = (x != x) | (y != y);
  return b.select(unordered, kNaN<T>, flip(b, angle, sign_of(b, y)));
}

template <class B>
typename B::F atan2(B b, typename B::F y, typename B::F x) {
  return b.in_f64([](auto w, auto s, auto t) { return atan2_f64(w, s, t); }, y, x);
}

}  // namespace tfvm::math
