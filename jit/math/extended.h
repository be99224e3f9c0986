// Unevaluated sums of two floats, for the steps where one rounding too many would show.
// Sources: Knuth's and Dekker's error-free sums, the fma product (Ogita, Rump, Oishi, "Accurate sum and dot product").
#pragma once

#include "jit/math/format.h"

namespace tfvm::math {

/// The value hi + lo, |lo| at most some ulps of hi.
template <class B>
struct Pair {
  typename B::F hi, lo;
};

/// x + y exactly.
template <class B>
Pair<B> two_sum(B, typename B::F x, typename B::F y) {
  const auto sum = x + y;
  const auto part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}

/// x + y exactly, where |x| >= |y| or x is 0.
template <class B>
Pair<B> fast_two_sum(B, typename B::F x, typename B::F y) {
  const auto sum = x + y;
  return {sum, y - (sum - x)};
}

/// x * y exactly, barring underflow.
template <class B>
Pair<B> two_product(B b, typename B::F x, typename B::F y) {
  const auto product = x * y;
  return {product, b.fma(x, y, -product)};
}

/// x * y, relative error about 2^-100 (f32: 2^-42); lo may be a few ulps of hi.
template <class B>
Pair<B> multiply(B b, Pair<B> x, Pair<B> y) {
  const auto p = two_product(b, x.hi, y.hi);
  return {p.hi, b.fma(x.hi, y.lo, b.fma(x.lo, y.hi, p.lo))};
}

/// x / y, likewise, where 1 / y.hi is a normal number; hi alone is within 1.5 ulp.
template <class B>
Pair<B> divide(B b, Pair<B> x, Pair<B> y) {
  const auto inverse = typename B::Scalar(1) / y.hi;
  const auto q = x.hi * inverse;
  const auto rest = b.fma(-q, y.hi, x.hi) + b.fma(-q, y.lo, x.lo);
  return {q, rest * inverse};
}

/// The root of x > 0, likewise; of zero: zero.
template <class B>
Pair<B> square_root(B b, Pair<B> x) {
  using T = typename B::Scalar;
  const auto root = b.sqrt(x.hi);
  const auto rest = b.fma(-root, root, x.hi) + x.lo;
  return {root, b.select(x.hi > T(0), rest * (T(0.5) / root), T(0))};
}

}  // namespace tfvm::math
