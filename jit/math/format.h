// Facts of the two float formats, and the small steps that most functions share.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <limits>

namespace tfvm::math {

template <class T>
struct Format;

template <>
struct Format<float> {
  static constexpr int mantissa_bits = 23, bias = 127, width = 32;
  /// Adding 1.5 * 2^23 leaves the rounded integer in the low bits.
  static constexpr float magic = 0x1.8p23F;
  static constexpr float ln2_high = 0x1.62e4p-1F, ln2_low = 0x1.7f7d1cp-20F;  // high: 15 bits, so e * high is exact
  static constexpr std::array<float, 3> half_pi{0x1.921fb6p+0F, -0x1.777a5cp-25F, -0x1.ee59dap-50F};
};

template <>
struct Format<double> {
  static constexpr int mantissa_bits = 52, bias = 1023, width = 64;
  static constexpr double magic = 0x1.8p52;
  static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;  // high: 32 bits
  static constexpr std::array<double, 3> half_pi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
};

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

/// The bit pattern of a constant, in the builder's integer type.
template <class B>
constexpr typename B::Int bits_of(typename B::Scalar x) {
  return std::bit_cast<typename B::Int>(x);
}

template <class B>
inline constexpr typename B::Int kSignBit = std::numeric_limits<typename B::Int>::min();

template <class B>
typename B::F abs(B b, typename B::F x) {
  return b.from_bits(b.bits(x) & ~kSignBit<B>);
}

/// The sign bit of x, all other bits zero.
template <class B>
typename B::I sign_of(B b, typename B::F x) {
  return b.bits(x) & kSignBit<B>;
}

/// x with the sign bits in `signs` flipped.
template <class B>
typename B::F flip(B b, typename B::F x, typename B::I signs) {
  return b.from_bits(b.bits(x) ^ signs);
}

template <class B>
struct Nearest {
  typename B::F f;
  typename B::I i;
};

/// x rounded to the nearest integer, ties to even, as both types; |x| < 2^22 (f64: 2^51).
template <class B>
Nearest<B> nearest(B b, typename B::F x) {
  using F = typename B::F;
  constexpr auto magic = Format<typename B::Scalar>::magic;
  const F shifted = x + magic;
  return {shifted - magic, b.bits(shifted) - bits_of<B>(magic)};
}

/// x * factor, likewise; rounded once, and a step sooner.
template <class B>
Nearest<B> nearest_product(B b, typename B::F x, typename B::Scalar factor) {
  using F = typename B::F;
  constexpr auto magic = Format<typename B::Scalar>::magic;
  const F shifted = b.fma(x, factor, magic);
  return {shifted - magic, b.bits(shifted) - bits_of<B>(magic)};
}

/// 2^k for k within the normal exponents.
template <class B>
typename B::F power_of_two(B b, typename B::I k) {
  using Fmt = Format<typename B::Scalar>;
  return b.from_bits((k + typename B::Int{Fmt::bias}) << Fmt::mantissa_bits);
}

/// x * 2^k for |k| <= 2 * bias - 2, rounded once if x is in [2^-2, 4]: the first of two factors never underflows.
template <class B>
typename B::F scale(B b, typename B::F x, typename B::I k) {
  using Fmt = Format<typename B::Scalar>;
  const auto biased = k + typename B::Int{2 * Fmt::bias};
  const auto half = shr(biased, 1);
  return x * b.from_bits(half << Fmt::mantissa_bits) * b.from_bits((biased - half) << Fmt::mantissa_bits);
}

/// Estrin's scheme: c[First] + c[First+1] x + ... of Count terms; powers[k] is x^(2^k).
template <std::size_t First, std::size_t Count, class B, class C>
typename B::F estrin(B b, const typename B::F* powers, const C& c) {
  if constexpr (Count == 1) {
    return c[First];
  } else {
    constexpr std::size_t half = std::bit_ceil(Count) / 2;
    return b.fma(estrin<First + half, Count - half>(b, powers, c), powers[std::bit_width(half) - 1],
                 estrin<First, half>(b, powers, c));
  }
}

/// The polynomial with coefficients c, lowest degree first.
template <class B, std::size_t N>
typename B::F poly(B b, typename B::F x, const std::array<typename B::Scalar, N>& c) {
  constexpr std::size_t steps = std::bit_width(N - 1);
  typename B::F powers[steps];
  powers[0] = x;
  for (std::size_t k = 1; k < steps; ++k) powers[k] = powers[k - 1] * powers[k - 1];
  return estrin<0, N>(b, powers, c);
}

/// The polynomial without its constant, divided by x.
template <class B, std::size_t N>
typename B::F poly_rest(B b, typename B::F x, const std::array<typename B::Scalar, N>& c) {
  std::array<typename B::Scalar, N - 1> rest{};
  for (std::size_t i = 0; i + 1 < N; ++i) rest[i] = c[i + 1];
  return poly(b, x, rest);
}

}  // namespace tfvm::math
