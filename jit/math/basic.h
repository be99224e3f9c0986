// The operations that move bits or round once: signs, rounding to integers, extrema, the strong-zero product, rem.
#pragma once

#include "jit/math/format.h"
#include "jit/math/remainder.h"

namespace tfvm::math {

template <class B>
typename B::F neg(B, typename B::F x) {
  return -x;
}

template <class B>
typename B::F floor(B b, typename B::F x) {
  return b.floor(x);
}

template <class B>
typename B::F ceil(B b, typename B::F x) {
  return b.ceil(x);
}

template <class B>
typename B::F trunc(B b, typename B::F x) {
  return b.trunc(x);
}

/// To the nearest, ties to even.
template <class B>
typename B::F round(B b, typename B::F x) {
  return b.round(x);
}

/// -1, 1, or x itself where it is zero or NaN.
template <class B>
typename B::F sign(B b, typename B::F x) {
  using T = typename B::Scalar;
  return b.select(x > T(0), T(1), b.select(x < T(0), T(-1), x));
}

template <class B>
typename B::F copysign(B b, typename B::F x, typename B::F y) {
  return b.from_bits((b.bits(x) & ~kSignBit<B>) | sign_of(b, y));
}

/// The next value after x in the direction of y; y where they are equal.
template <class B>
typename B::F nextafter(B b, typename B::F x, typename B::F y) {
  using T = typename B::Scalar;
  using Int = typename B::Int;
  const auto grows = (x < y) == (x > T(0));  // away from zero; both false means x > y, x <= 0
  const auto moved = b.from_bits(b.bits(x) + b.select(grows, Int{1}, Int{-1}));
  const auto least = b.from_bits(sign_of(b, y) | typename B::I(Int{1}));
  const auto result = b.select(x == y, y, b.select(x == T(0), least, moved));
  return b.select((x != x), x, b.select(y != y, y, result));
}

/// A NaN where x or y is one, of which only what is said of all NaNs can be counted on, else `chosen`. All of its bits
/// are set, so that a mask is its select.
template <class B>
typename B::F nan_or(B b, typename B::F x, typename B::F y, typename B::F chosen) {
  return b.select((x != x) | (y != y), b.from_bits(typename B::Int{-1}), chosen);
}

/// NaN wins; -0 < +0. The two choices differ where x and y are equal, and there only of zeros (or NaN).
template <class B>
typename B::F max(B b, typename B::F x, typename B::F y) {
  const auto one = b.select(x > y, x, y), other = b.select(y > x, y, x);
  return nan_or(b, x, y, b.from_bits(b.bits(one) & b.bits(other)));
}

template <class B>
typename B::F min(B b, typename B::F x, typename B::F y) {
  const auto one = b.select(x < y, x, y), other = b.select(y < x, y, x);
  return nan_or(b, x, y, b.from_bits(b.bits(one) | b.bits(other)));
}

template <class B>
typename B::F clamp(B b, typename B::F low, typename B::F x, typename B::F high) {
  return min(b, max(b, x, low), high);
}

/// x * y; where that is NaN and a factor is zero, a zero with the product's sign. So zmul(x, 1) is x, bit for bit.
template <class B>
typename B::F zmul(B b, typename B::F x, typename B::F y) {
  using T = typename B::Scalar;
  const auto product = x * y;
  const auto zero = (product != product) & ((x == T(0)) | (y == T(0)));
  return b.select(zero, b.from_bits(sign_of(b, x) ^ sign_of(b, y)), product);
}

template <class B>
typename B::F fma(B b, typename B::F x, typename B::F y, typename B::F z) {
  return b.fma(x, y, z);
}

/// fma, but where that is NaN and a factor is zero, the zero of zmul plus z.
template <class B>
typename B::F zfma(B b, typename B::F x, typename B::F y, typename B::F z) {
  using T = typename B::Scalar;
  const auto sum = b.fma(x, y, z);
  const auto zero = (sum != sum) & ((x == T(0)) | (y == T(0)));
  return b.select(zero, b.from_bits(sign_of(b, x) ^ sign_of(b, y)) + z, sum);
}

/// C's fmod, exact: a rounded quotient below 2^mantissa is off by at most one and the fma's rest is exact; larger
/// quotients go to a loop per lane (a helper call where code is emitted).
template <class B>
typename B::F rem(B b, typename B::F x, typename B::F y) {
  using T = typename B::Scalar;
  constexpr T exact = T(sizeof(T) == 4 ? 0x1p22 : 0x1p51);
  const auto a = abs(b, x), c = abs(b, y);
  const auto quotient = b.trunc(a / c);
  const auto rest = b.fma(-quotient, c, a);
  const auto usual = b.select(rest < T(0), rest + c, rest);
  // c may be so small that a / c overflows, or a denormal so that a / c is far from exact: both have large quotients.
  const auto long_way = (quotient >= exact) & (a < kInf<T>)&(c > T(0));
  const auto result = b.rare(long_way, usual, [=] { return b.each(&remainder_by_steps<T>, a, c); });
  const auto limits = b.select((a < kInf<T>)&(c == kInf<T>), a, result);
  const auto valid = (a < kInf<T>)&(c > T(0));
  return b.select(x != x, x, b.select(y != y, y, b.select(valid, flip(b, limits, sign_of(b, x)), kNaN<T>)));
}

}  // namespace tfvm::math
