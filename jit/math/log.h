// log, log2, log10, log1p.
//
// Source: x = 2^e m with sqrt(1/2) <= m < sqrt(2), log(x) = e ln2 + log(1 + f), f = m - 1. In f64
// log(1 + f) = 2 atanh(s), s = f / (2 + f) (Tang, "Table-driven implementation of the logarithm function", section on
// the table-free case); in f32 a polynomial in f is accurate enough and needs no division.
#pragma once

#include "jit/math/coefficients_f32.h"
#include "jit/math/coefficients_f64.h"
#include "jit/math/extended.h"

namespace tfvm::math {

template <class B>
struct LogReduced {
  typename B::F e, m;
  typename B::I exponent;  ///< e as an integer
};

/// x = 2^e m for finite x > 0, denormals too; of other x: anything.
template <class B>
LogReduced<B> reduce_log(B b, typename B::F x) {
  using T = typename B::Scalar;
  using Int = typename B::Int;
  using Fmt = Format<T>;
  constexpr Int root_half = bits_of<B>(T(0x1.6a09e667f3bcdp-1));
  constexpr Int one = bits_of<B>(T(1));
  constexpr T denormal_scale = T(sizeof(T) == 4 ? 0x1p24 : 0x1p54);
  constexpr T two_to_mantissa = T(sizeof(T) == 4 ? 0x1p23 : 0x1p52);
  const auto denormal = x < std::numeric_limits<T>::min();
  const auto moved = b.bits(b.select(denormal, x * denormal_scale, x)) + Int{one - root_half};
  // The biased exponent as a float: put into the low bits of 2^mantissa, which is then taken away.
  const auto biased = shr(moved, Fmt::mantissa_bits);
  const auto as_float = b.from_bits(biased | bits_of<B>(two_to_mantissa)) - (two_to_mantissa + T(Fmt::bias));
  const auto extra = b.select(denormal, Int{sizeof(T) == 4 ? 24 : 54}, Int{0});
  const auto mantissa = (moved & Int{(Int{1} << Fmt::mantissa_bits) - 1}) + root_half;
  return {as_float - b.select(denormal, T(sizeof(T) == 4 ? 24 : 54), T(0)), b.from_bits(mantissa),
          biased - Int{Fmt::bias} - extra};
}

/// log(1 + f) = hi + lo for f of reduce_log. hi is f - f^2/2 rounded, or where f is small nearly all.
template <class B>
Pair<B> log1p_short(B b, typename B::F f) {
  using T = typename B::Scalar;
  const auto half_square = T(0.5) * f * f;
  const auto hi = f - half_square;
  if constexpr (sizeof(T) == 4) {
    const auto cube = f * f * f * poly(b, f, kLog1pF32);
    return {hi, ((f - hi) - half_square) + cube};
  } else {
    const auto s = f / (T(2) + f);
    const auto z = s * s;
    return {hi, b.fma(s, b.fma(z, poly(b, z, kAtanh), half_square), (f - hi) - half_square)};
  }
}

/// e ln2 + log(1 + f).
template <class B>
typename B::F join_log(B b, typename B::F e, typename B::F f) {
  using Fmt = Format<typename B::Scalar>;
  const auto part = log1p_short(b, f);
  const auto low = b.fma(e, Fmt::ln2_low, part.lo);
  const auto sum = fast_two_sum(b, e * Fmt::ln2_high, part.hi);
  return sum.hi + (sum.lo + low);
}

/// `result` for x > 0, and the logarithm's limits elsewhere: -inf at zero, NaN below, inf at inf.
template <class B>
typename B::F log_limits(B b, typename B::F x, typename B::F result) {
  using T = typename B::Scalar;
  const auto outside = b.select(x == T(0), -kInf<T>, kNaN<T>);
  return b.select(x > T(0), b.select(x < kInf<T>, result, x), outside);
}

template <class B>
typename B::F log(B b, typename B::F x) {
  const auto part = reduce_log(b, x);
  return log_limits(b, x, join_log(b, part.e, part.m - typename B::Scalar(1)));
}

template <class B>
typename B::F log2(B b, typename B::F x) {
  using T = typename B::Scalar;
  using F = typename B::F;
  constexpr T log2e = T(sizeof(T) == 4 ? 0x1.715476p+0 : 0x1.71547652b82fep+0);
  constexpr T log2e_low = T(sizeof(T) == 4 ? 0x1.4ae0cp-26 : 0x1.777d0ffda0d24p-56);
  const auto part = reduce_log(b, x);
  const auto natural = log1p_short(b, part.m - T(1));
  const auto product = two_product(b, natural.hi, F(log2e));
  const auto low = product.lo + b.fma(natural.lo, log2e, natural.hi * log2e_low);
  const auto sum = fast_two_sum(b, part.e, product.hi);
  return log_limits(b, x, sum.hi + (sum.lo + low));
}

template <class B>
typename B::F log10(B b, typename B::F x) {
  using T = typename B::Scalar;
  constexpr bool f32 = sizeof(T) == 4;
  constexpr auto log10e = T(f32 ? 0x1.bcb7b2p-2 : 0x1.bcb7b1526e50ep-2);
  constexpr auto log10e_low = T(f32 ? -0x1.5b235ep-27 : 0x1.95355baaafad3p-57);
  constexpr auto log10_2 = T(f32 ? 0x1.344p-2 : 0x1.34413509f8p-2);  // times e exact
  constexpr auto log10_2_low = T(f32 ? 0x1.3509f8p-18 : -0x1.80433b83b532ap-44);
  const auto part = reduce_log(b, x);
  const auto natural = log1p_short(b, part.m - T(1));
  const auto product = two_product(b, natural.hi, typename B::F(log10e));
  const auto low = product.lo + b.fma(natural.lo, log10e, natural.hi * log10e_low);
  const auto sum = fast_two_sum(b, part.e * log10_2, product.hi);
  return log_limits(b, x, sum.hi + (sum.lo + b.fma(part.e, log10_2_low, low)));
}

/// log(u.hi + u.lo) + extra ln2 for u.hi > 0 finite. f is rounded once from the exact m - 1 and the scaled low part, so
/// a u of 1 + y keeps y's digits.
template <class B>
typename B::F log_of_pair(B b, Pair<B> u, typename B::F extra) {
  using T = typename B::Scalar;
  const auto part = reduce_log(b, u.hi);
  // 2^-e in two steps: of e = 1024 it is denormal.
  const auto inverse = T(0.5) * power_of_two(b, typename B::Int{1} - part.exponent);
  const auto f = (part.m - T(1)) + u.lo * inverse;
  return join_log(b, part.e + extra, f);
}

template <class B>
typename B::F log1p(B b, typename B::F x) {
  using T = typename B::Scalar;
  const auto u = two_sum(b, typename B::F(T(1)), x);
  const auto result = log_limits(b, u.hi, log_of_pair(b, u, T(0)));
  return b.select(abs(b, x) < std::numeric_limits<T>::min(), x, result);
}

}  // namespace tfvm::math
