// Conversions that the language fixes: every one rounds once, to nearest even, and float to integer saturates.
// f16 and bf16 are held as their 16 bits.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include <immintrin.h>

namespace tfvm::math {

/// Truncates toward zero and stops at I's bounds; NaN gives 0.
template <std::integral I, std::floating_point F>
constexpr I saturate_cast(F x) {
  using Limits = std::numeric_limits<I>;
  constexpr F beyond = F(2) * static_cast<F>(Limits::max() / 2 + 1);  // 2^digits, exact
  if (x >= beyond) return Limits::max();
  if (x > static_cast<F>(Limits::min()) || (!std::is_signed_v<I> && x > F(-1))) return static_cast<I>(x);
  return x != x ? I{0} : Limits::min();
}

inline float f16_to_f32(std::uint16_t h) { return _cvtsh_ss(h); }
inline std::uint16_t f32_to_f16(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }

inline float bf16_to_f32(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }

/// A NaN keeps its sign and upper bits and becomes quiet.
inline std::uint16_t f32_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return static_cast<std::uint16_t>(x != x ? (bits >> 16) | 0x40 : rounded);
}

/// To f32, inexact results with their last bit set, so that a second rounding to at most 22 bits is the only one
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
inline float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  if (back == x || x != x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(x)) --bits;  // toward zero: of infinity the greatest finite value
  return std::bit_cast<float>(bits | 1);
}

inline std::uint16_t f64_to_f16(double x) { return f32_to_f16(round_to_odd(x)); }
inline std::uint16_t f64_to_bf16(double x) { return f32_to_bf16(round_to_odd(x)); }

/// To f64 with 53 bits, the last one set where bits were lost.
inline double round_to_odd(std::uint64_t x) {
  if (x < (std::uint64_t{1} << 53)) return static_cast<double>(x);
  return static_cast<double>((x >> 11) | ((x & 0x7FF) != 0)) * 0x1p11;
}

inline double round_to_odd(std::int64_t x) {
  const auto bits = static_cast<std::uint64_t>(x);
  return x < 0 ? -round_to_odd(std::uint64_t{0} - bits) : round_to_odd(bits);
}

inline std::uint16_t i64_to_f16(std::int64_t x) { return f64_to_f16(round_to_odd(x)); }
inline std::uint16_t i64_to_bf16(std::int64_t x) { return f64_to_bf16(round_to_odd(x)); }
inline std::uint16_t u64_to_f16(std::uint64_t x) { return f64_to_f16(round_to_odd(x)); }
inline std::uint16_t u64_to_bf16(std::uint64_t x) { return f64_to_bf16(round_to_odd(x)); }

}  // namespace tfvm::math
