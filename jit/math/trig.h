// sin, cos, tan.
//
// Arguments are reduced modulo pi/2 (half_pi.h, payne_hanek.h); polynomials on |r| <= pi/4.
#pragma once

#include "jit/math/coefficients_f32.h"
#include "jit/math/coefficients_f64.h"
#include "jit/math/half_pi.h"

namespace tfvm::math {

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

template <class B>
struct RoundedSinCos {
  typename B::F sin, cos;
};

template <class B>
RoundedSinCos<B> rounded_sin_cos(B b, const Angle<B>& a) {
  const auto parts = sin_cos(b, a);
  return {parts.sin.hi + parts.sin.lo, parts.cos.hi + parts.cos.lo};
}

template <class B>
RoundedSinCos<B> rounded_sin_cos(B b, const RoundedAngle<B>& a) {
  using T = typename B::Scalar;
  const auto z = a.rough * a.rough;
  return {b.fma(a.r * z, poly(b, z, kSinQuarter<T>), a.r),
          b.fma(z * z, poly(b, z, kCosQuarter<T>), b.fma(z, T(-0.5), T(1)))};
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

/// With the sign of `signed_by`, and of the half turn: both at once, since what is known early costs no time at the
/// end.
template <class B, class A>
typename B::F sin_of(B b, const A& a, typename B::F signed_by) {
  const auto parts = rounded_sin_cos(b, a);
  const auto turned = (a.n << (Format<typename B::Scalar>::width - 2)) ^ b.bits(signed_by);
  return flip(b, b.select(is_odd(b, a.n), parts.cos, parts.sin), turned & kSignBit<B>);
}

template <class B, class A>
typename B::F cos_of(B b, const A& a) {
  const auto parts = rounded_sin_cos(b, a);
  const auto sign = half_turn_sign(b, a.n + typename B::Int{1});
  return flip(b, b.select(is_odd(b, a.n), parts.sin, parts.cos), sign);
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

/// `usual`, but where the magnitude is large, fn(builder, its angle, more…).
template <class B, class Fn, class... Xs>
typename B::F unless_large(B b, typename B::F magnitude, typename B::F usual, Fn fn, Xs... more) {
  using T = typename B::Scalar;
  const auto large = (magnitude > kShortReduction<T>)&(magnitude < kInf<T>);
  const auto of_large = [=](auto w, auto m, auto... xs) { return fn(w, reduce_large_angle(w, m), xs...); };
  return b.rare(large, usual, [=] { return b.in_f64(of_large, magnitude, more...); });
}

template <class B>
typename B::F sin(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto fn = [](auto w, const auto& angle, auto signed_by) { return sin_of(w, angle, signed_by); };
  return unless_large(b, a, fn(b, reduce_angle_rounded(b, a), x), fn, x);
}

template <class B>
typename B::F cos(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto fn = [](auto w, const auto& angle) { return cos_of(w, angle); };
  return unless_large(b, a, fn(b, reduce_angle_rounded(b, a)), fn);
}

template <class B>
typename B::F tan(B b, typename B::F x) {
  const auto a = abs(b, x);
  const auto fn = [](auto w, const auto& angle) { return tan_of(w, angle); };
  return flip(b, unless_large(b, a, fn(b, reduce_angle(b, a)), fn), sign_of(b, x));
}

}  // namespace tfvm::math
