// asinh, acosh, atanh: logarithms of sums that are kept as pairs, so that results near zero keep their digits; in
// double for both types.
#pragma once

#include "jit/math/log.h"

namespace tfvm::math {

/// log(|x| + sqrt(x^2 + 1)) with x's sign.
template <class B>
typename B::F asinh_f64(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto a = abs(b, x);
  const auto large = a > T(0x1p28);  // there sqrt(a^2 + 1) rounds to a, and a^2 may overflow
  const auto square = two_product(b, a, a);
  const auto inside = two_sum(b, square.hi, typename B::F(T(1)));
  const auto root = square_root(b, Pair<B>{inside.hi, inside.lo + square.lo});
  const auto sum = two_sum(b, root.hi, a);
  const Pair<B> u{b.select(large, a, sum.hi), b.select(large, T(0), sum.lo + root.lo)};
  const auto result = log_of_pair(b, u, b.select(large, T(1), T(0)));  // log(2a) where large
  return flip(b, b.select(a < kInf<T>, result, a), sign_of(b, x));
}

/// log(x + sqrt((x - 1)(x + 1))), NaN below 1.
template <class B>
typename B::F acosh_f64(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto large = x > T(0x1p28);
  const auto t = x - T(1);
  const auto square = two_product(b, t, t);
  const auto inside = two_sum(b, T(2) * t, square.hi);
  const auto root = square_root(b, Pair<B>{inside.hi, inside.lo + square.lo});
  const auto sum = two_sum(b, x, root.hi);
  const Pair<B> u{b.select(large, x, sum.hi), b.select(large, T(0), sum.lo + root.lo)};
  const auto result = log_of_pair(b, u, b.select(large, T(1), T(0)));
  return b.select(x >= T(1), b.select(x < kInf<T>, result, x), kNaN<T>);
}

/// log((1 + x) / (1 - x)) / 2 = log(1 + 2x / (1 - x)) / 2.
template <class B>
typename B::F atanh_f64(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto a = abs(b, x);
  const auto below = two_sum(b, typename B::F(T(1)), -a);
  const auto quotient = divide(b, Pair<B>{T(2) * a, T(0)}, below);
  const auto sum = two_sum(b, typename B::F(T(1)), quotient.hi);
  const auto result = T(0.5) * log_of_pair(b, Pair<B>{sum.hi, sum.lo + quotient.lo}, T(0));
  const auto limits = b.select(a == T(1), kInf<T>, kNaN<T>);
  const auto magnitude = b.select(a < std::numeric_limits<T>::min(), a, b.select(a < T(1), result, limits));
  return flip(b, magnitude, sign_of(b, x));
}

template <class B>
typename B::F asinh(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return asinh_f64(w, y); }, x);
}

template <class B>
typename B::F acosh(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return acosh_f64(w, y); }, x);
}

template <class B>
typename B::F atanh(B b, typename B::F x) {
  return b.in_f64([](auto w, auto y) { return atanh_f64(w, y); }, x);
}

}  // namespace tfvm::math
