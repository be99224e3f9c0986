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

/// The largest |x| that the short reduction is for.
template <class T>
inline constexpr T kShortReduction = T(sizeof(T) == 4 ? 0x1p17 : 0x1p30);

/// The short reduction; f32 does without r_low.
template <class B>
Angle<B> reduce_angle(B b, typename B::F x) {
  using T = typename B::Scalar;
  using F = typename B::F;
  constexpr T two_over_pi = T(0x1.45f306dc9c883p-1);
  constexpr auto parts = Format<T>::half_pi;
  const auto n = nearest(b, x * two_over_pi);
  const auto first = b.fma(-n.f, parts[0], x);  // exact: it cancels
  if constexpr (sizeof(T) == 4) {
    return {n.i, b.fma(-n.f, parts[2], b.fma(-n.f, parts[1], first)), T(0)};
  } else {
    const auto second = two_product(b, n.f, F(parts[1]));
    const auto r = two_sum(b, first, -second.hi);
    return {n.i, r.hi, b.fma(-n.f, parts[2], r.lo - second.lo)};
  }
}

template <class B>
struct SinCos {
  Pair<B> sin, cos;  ///< lo is not added yet; in f32 it is 0
};

/// Of r + r_low, |r| <= pi/4.
template <class B>
SinCos<B> sin_cos(B b, const Angle<B>& a) {
  using T = typename B::Scalar;
  const auto z = a.r * a.r;
  const auto sin_poly = poly(b, z, kSinQuarter<T>);
  const auto cos_poly = poly(b, z, kCosQuarter<T>);
  if constexpr (sizeof(T) == 4) {
    const auto cosine = b.fma(z * z, cos_poly, b.fma(z, T(-0.5), T(1)));
    return {{b.fma(a.r * z, sin_poly, a.r), T(0)}, {cosine, T(0)}};
  } else {
    const auto half = T(0.5) * z;
    const auto head = T(1) - half;
    const auto tail = b.fma(z * z, cos_poly, -(a.r * a.r_low));
    const auto sin_tail = b.fma(a.r * z, sin_poly, b.fma(-half, a.r_low, a.r_low));
    return {{a.r, sin_tail}, {head, ((T(1) - head) - half) + tail}};
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

/// The sum, in f32 just hi.
template <class B>
typename B::F joined(B, Pair<B> x) {
  if constexpr (sizeof(typename B::Scalar) == 4) return x.hi;
  return x.hi + x.lo;
}

template <class B>
typename B::F sin_of(B b, const Angle<B>& a) {
  const auto parts = sin_cos(b, a);
  return flip(b, joined(b, select(b, is_odd(b, a.n), parts.cos, parts.sin)), half_turn_sign(b, a.n));
}

template <class B>
typename B::F cos_of(B b, const Angle<B>& a) {
  const auto parts = sin_cos(b, a);
  const auto sign = half_turn_sign(b, a.n + typename B::Int{1});
  return flip(b, joined(b, select(b, is_odd(b, a.n), parts.sin, parts.cos)), sign);
}

template <class B>
typename B::F tan_of(B b, const Angle<B>& a) {
  const auto parts = sin_cos(b, a);
  const auto odd = is_odd(b, a.n);
  const auto over = select(b, odd, parts.cos, parts.sin), under = select(b, odd, parts.sin, parts.cos);
  const auto sign = b.select(odd, b.bits(typename B::F(typename B::Scalar(-0.0))), typename B::Int{0});
  if constexpr (sizeof(typename B::Scalar) == 4) return flip(b, over.hi / under.hi, sign);
  const auto quotient = divide(b, fast_two_sum(b, over.hi, over.lo), fast_two_sum(b, under.hi, under.lo));
  return flip(b, joined(b, quotient), sign);
}

/// fn(angle of |x|), by the reduction that |x| needs.
template <class B, class Fn>
typename B::F by_angle(B b, typename B::F magnitude, Fn fn) {
  using T = typename B::Scalar;
  const auto large = (magnitude > kShortReduction<T>)&(magnitude < kInf<T>);
  return b.rare(large, fn(b, reduce_angle(b, magnitude)),
                [&] { return b.in_f64([&](auto w, auto m) { return fn(w, reduce_large_angle(w, m)); }, magnitude); });
}

template <class B>
typename B::F sin(B b, typename B::F x) {
  const auto result = by_angle(b, abs(b, x), [](auto w, const auto& angle) { return sin_of(w, angle); });
  return flip(b, result, sign_of(b, x));
}

template <class B>
typename B::F cos(B b, typename B::F x) {
  return by_angle(b, abs(b, x), [](auto w, const auto& angle) { return cos_of(w, angle); });
}

template <class B>
typename B::F tan(B b, typename B::F x) {
  const auto result = by_angle(b, abs(b, x), [](auto w, const auto& angle) { return tan_of(w, angle); });
  return flip(b, result, sign_of(b, x));
}

}  // namespace tfvm::math
