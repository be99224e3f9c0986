// exp, exp2, expm1, logistic.
//
// Source: Cody and Waite, "Software Manual for the Elementary Functions": e^x = 2^k e^r with k = x / ln2 rounded and
// r = x - k ln2 in two steps (the first exact through fma), |r| <= ln2 / 2; e^r = 1 + r + r^2 q(r).
#pragma once

#include "jit/math/coefficients_f32.h"
#include "jit/math/coefficients_f64.h"
#include "jit/math/extended.h"

namespace tfvm::math {

template <class T>
struct ExpFormat;
template <>
struct ExpFormat<float> {
  static constexpr float log2e = 0x1.715476p+0F, ln2 = 0x1.62e43p-1F, ln2_low = -0x1.05c61p-29F;
  static constexpr float least = -104.0F, most = 89.0F;     // exp underflows to 0 below, overflows above
  static constexpr float least2 = -151.0F, most2 = 129.0F;  // exp2
  static constexpr float minus_one = -18.0F;                // expm1 is -1 below
};
template <>
struct ExpFormat<double> {
  static constexpr double log2e = 0x1.71547652b82fep+0, ln2 = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  static constexpr double least = -746.0, most = 710.0;
  static constexpr double least2 = -1076.0, most2 = 1025.0;
  static constexpr double minus_one = -38.0;
};

/// x between two constants; a NaN stays.
template <class B>
typename B::F bounded(B b, typename B::F x, typename B::Scalar least, typename B::Scalar most) {
  return b.select(x < least, least, b.select(x > most, most, x));
}

/// x = k ln2 + r + r_low.
template <class B>
struct ExpReduced {
  Nearest<B> k;
  typename B::F r, r_low;
};

template <class B>
ExpReduced<B> reduce_exp(B b, typename B::F x) {
  using E = ExpFormat<typename B::Scalar>;
  const auto k = nearest_product(b, x, E::log2e);
  const auto first = b.fma(-k.f, E::ln2, x);
  const auto r = b.fma(-k.f, E::ln2_low, first);
  return {k, r, b.fma(-k.f, E::ln2_low, first - r)};
}

/// e^r - 1 for |r| <= ln2 / 2.
template <class B>
typename B::F expm1_reduced(B b, typename B::F r) {
  return b.fma(r * r, poly(b, r, kExp<typename B::Scalar>), r);
}

/// e^x * 2^shift; the product may overflow or underflow only as a whole.
template <class B>
typename B::F exp_shifted(B b, typename B::F x, typename B::Int shift) {
  using T = typename B::Scalar;
  using E = ExpFormat<T>;
  const auto e = reduce_exp(b, bounded(b, x, E::least, E::most + T(2)));
  return scale(b, T(1) + expm1_reduced(b, e.r), e.k.i + shift);
}

template <class B>
typename B::F exp(B b, typename B::F x) {
  return exp_shifted(b, x, 0);
}

template <class B>
typename B::F exp2(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto bound = bounded(b, x, ExpFormat<T>::least2, ExpFormat<T>::most2);
  const auto k = nearest(b, bound);
  const auto r = bound - k.f;
  return scale(b, b.fma(r, poly(b, r, kExp2<T>), T(1)), k.i);
}

/// e^(x.hi + x.lo) or the like = (hi + lo) * 2^k.
template <class B>
struct ExpPair {
  Pair<B> value;
  typename B::I k;
};

/// e^x - 1 = value * 2^k: 1 - 2^-k + r + r^2 q(r) with the large terms added without error.
template <class B>
ExpPair<B> expm1_scaled(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto e = reduce_exp(b, x);
  const auto inverse = b.select(e.k.f > T(60), T(0), power_of_two(b, typename B::Int{0} - e.k.i));
  const auto sum = fast_two_sum(b, T(1) - inverse, e.r);
  const auto tail = b.fma(e.r * e.r, poly(b, e.r, kExp<T>), e.r_low);
  return {fast_two_sum(b, sum.hi, sum.lo + tail), e.k.i};
}

template <class B>
typename B::F expm1(B b, typename B::F x) {
  using E = ExpFormat<typename B::Scalar>;
  const auto e = expm1_scaled(b, bounded(b, x, E::minus_one, E::most));
  const auto result = scale(b, e.value.hi, e.k);
  return b.from_bits((b.bits(result) & ~kSignBit<B>) | sign_of(b, x));
}

/// e^(x.hi + x.lo), for x within exp's finite range.
template <class B>
ExpPair<B> exp_pair(B b, Pair<B> x) {
  using T = typename B::Scalar;
  const auto e = reduce_exp(b, x.hi);
  const auto low = e.r_low + x.lo;
  const auto sum = fast_two_sum(b, T(1), e.r);
  const auto square = e.r * e.r, q = poly(b, e.r, kExp<T>);
  const auto tail = b.fma(square, q, b.fma(low, b.fma(square, q, e.r), low));  // low * e^r to first order
  return {fast_two_sum(b, sum.hi, sum.lo + tail), e.k.i};
}

/// The rounding of 1 + e is made good, which counts where the quotient is small.
template <class B>
typename B::F logistic_f32(B b, typename B::F x) {
  const auto e = exp(b, -abs(b, x));
  const auto under = 1.0F + e;
  const auto quotient = b.select(x < 0.0F, e, typename B::F(1.0F)) / under;
  return b.fma(-quotient, e - (under - 1.0F), quotient);
}

template <class B>
typename B::F logistic_f64(B b, typename B::F x) {
  using F = typename B::F;
  const auto below = x < 0.0;
  const auto e = exp_pair(b, Pair<B>{bounded(b, -abs(b, x), ExpFormat<double>::least, 0.0), F(0.0)});
  const Pair<B> small{scale(b, e.value.hi, e.k), scale(b, e.value.lo, e.k)};
  const auto sum = fast_two_sum(b, F(1.0), small.hi);
  const Pair<B> over{b.select(below, small.hi, 1.0), b.select(below, small.lo, 0.0)};
  const auto quotient = divide(b, over, Pair<B>{sum.hi, sum.lo + small.lo});
  return quotient.hi + quotient.lo;
}

/// 1 / (1 + e^-x), as e^x / (1 + e^x) where x < 0, so that small results keep their digits.
template <class B>
typename B::F logistic(B b, typename B::F x) {
  if constexpr (sizeof(typename B::Scalar) == 4) {
    return logistic_f32(b, x);
  } else {
    return logistic_f64(b, x);
  }
}

}  // namespace tfvm::math
