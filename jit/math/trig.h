// sin, cos, tan.
//
// Source: Cody and Waite's reduction in three parts of pi/2 through fma for moderate arguments, Payne and Hanek's
// ("Radian reduction for trigonometric functions") beyond; polynomials on |r| <= pi/4.
#pragma once

#include "jit/math/coefficients_f32.h"
#include "jit/math/coefficients_f64.h"
#include "jit/math/extended.h"
#include "jit/math/payne_hanek.h"

namespace tfvm::math {

template <class T>
inline constexpr T kTwoByPi = T(0x1.45f306dc9c883p-1);

/// The largest |x| that the short reduction is for.
template <class T>
inline constexpr T kShortReduction = T(sizeof(T) == 4 ? 0x1p17 : 0x1p30);

template <class B>
Angle<B> reduce_angle(B b, typename B::F x) {
  using T = typename B::Scalar;
  constexpr auto parts = Format<T>::half_pi;
  const auto n = nearest(b, x * kTwoByPi<T>);
  const auto first = b.fma(-n.f, parts[0], x);  // exact: it cancels
  const auto second = two_product(b, n.f, typename B::F(parts[1]));
  const auto r = two_sum(b, first, -second.hi);
  return {n.i, r.hi, b.fma(-n.f, parts[2], r.lo - second.lo)};
}

/// The same; f32 does without r_low.
template <class B>
Angle<B> reduce_angle_rounded(B b, typename B::F x) {
  using T = typename B::Scalar;
  if constexpr (sizeof(T) == 8) return reduce_angle(b, x);
  constexpr auto parts = Format<T>::half_pi;
  const auto n = nearest(b, x * kTwoByPi<T>);
  return {n.i, b.fma(-n.f, parts[2], b.fma(-n.f, parts[1], b.fma(-n.f, parts[0], x))), T(0)};
}

template <class B>
struct SinCos {
  Pair<B> sin, cos;  ///< lo is not added yet, and not small
};

/// Of r + r_low, |r| <= pi/4.
template <class B>
SinCos<B> sin_cos(B b, const Angle<B>& a) {
  using T = typename B::Scalar;
  const auto z = a.r * a.r;
  const auto half = T(0.5) * z;
  const auto head = T(1) - half;
  const auto tail = b.fma(z * z, poly(b, z, kCosQuarter<T>), -(a.r * a.r_low));
  const auto sin_tail = b.fma(a.r * z, poly(b, z, kSinQuarter<T>), b.fma(-half, a.r_low, a.r_low));
  return {{a.r, sin_tail}, {head, ((T(1) - head) - half) + tail}};
}

/// The same with the sums rounded; f32 does without r_low.
template <class B>
SinCos<B> rounded_sin_cos(B b, const Angle<B>& a) {
  using T = typename B::Scalar;
  if constexpr (sizeof(T) == 4) {
    const auto z = a.r * a.r;
    const auto cosine = b.fma(z * z, poly(b, z, kCosQuarter<T>), b.fma(z, T(-0.5), T(1)));
    return {{b.fma(a.r * z, poly(b, z, kSinQuarter<T>), a.r), T(0)}, {cosine, T(0)}};
  } else {
    const auto parts = sin_cos(b, a);
    return {{parts.sin.hi + parts.sin.lo, T(0)}, {parts.cos.hi + parts.cos.lo, T(0)}};
  }
}

template <class B>
typename B::M is_odd(B, typename B::I n) {
  using I = typename B::I;
  using Int = typename B::Int;
  return (n & Int{1}) == I(Int{1});
}

/// Bit 1 of n as a sign bit.
template <class B>
typename B::I half_turn_sign(B, typename B::I n) {
  return (n << (Format<typename B::Scalar>::width - 2)) & kSignBit<B>;
}

template <class B>
Pair<B> select(B b, typename B::M m, Pair<B> x, Pair<B> y) {
  return {b.select(m, x.hi, y.hi), b.select(m, x.lo, y.lo)};
}

template <class B>
typename B::F sin_of(B b, const Angle<B>& a) {
  const auto parts = rounded_sin_cos(b, a);
  return flip(b, b.select(is_odd(b, a.n), parts.cos.hi, parts.sin.hi), half_turn_sign(b, a.n));
}

template <class B>
typename B::F cos_of(B b, const Angle<B>& a) {
  const auto parts = rounded_sin_cos(b, a);
  const auto sign = half_turn_sign(b, a.n + typename B::Int{1});
  return flip(b, b.select(is_odd(b, a.n), parts.sin.hi, parts.cos.hi), sign);
}

template <class B>
typename B::F tan_of(B b, const Angle<B>& a) {
  using T = typename B::Scalar;
  const auto parts = sin_cos(b, a);
  const auto odd = is_odd(b, a.n);
  const auto over = select(b, odd, parts.cos, parts.sin), under = select(b, odd, parts.sin, parts.cos);
  const auto quotient = divide(b, fast_two_sum(b, over.hi, over.lo), fast_two_sum(b, under.hi, under.lo));
  const auto sign = b.select(odd, b.bits(typename B::F(T(-0.0))), typename B::Int{0});
  return flip(b, quotient.hi + quotient.lo, sign);
}

/// fn(angle of the magnitude), which is `usual` unless the magnitude is large.
template <class B, class Fn>
typename B::F by_angle(B b, typename B::F magnitude, const Angle<B>& usual, Fn fn) {
  using T = typename B::Scalar;
  const auto large = (magnitude > kShortReduction<T>)&(magnitude < kInf<T>);
  return b.rare(large, fn(b, usual),
                [=] { return b.in_f64([=](auto w, auto m) { return fn(w, reduce_large_angle(w, m)); }, magnitude); });
}

template <class B>
typename B::F sin(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto fn = [](auto w, const auto& angle) { return sin_of(w, angle); };
  return flip(b, by_angle(b, a, reduce_angle_rounded(b, a), fn), sign_of(b, x));
}

template <class B>
typename B::F cos(B b, typename B::F x) {
  const auto a = abs(b, x);
  return by_angle(b, a, reduce_angle_rounded(b, a), [](auto w, const auto& angle) { return cos_of(w, angle); });
}

template <class B>
typename B::F tan(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto fn = [](auto w, const auto& angle) { return tan_of(w, angle); };
  return flip(b, by_angle(b, a, reduce_angle(b, a), fn), sign_of(b, x));
}

}  // namespace tfvm::math
