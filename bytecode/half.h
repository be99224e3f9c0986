#pragma once
// f16 and bf16 as 16-bit patterns. From double they round once, half to even; NaN keeps its sign and becomes quiet.

#include <bit>
#include <cstdint>

namespace tfvm {

namespace half_detail {
// Rounds a double to a binary format of `mant` explicit mantissa bits and exponent bias `bias` (IEEE 754-2019, 4.3.1).
constexpr std::uint16_t from_double(double d, int mant, int bias) {
  const auto bits = std::bit_cast<std::uint64_t>(d);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
  const auto inf = static_cast<std::uint16_t>(((2 * bias + 1) << mant) & 0x7fff);
  const int exp = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  std::uint64_t frac = bits & 0xfffffffffffffull;
  if (exp == 1024) return static_cast<std::uint16_t>(sign | inf | (frac ? 1u << (mant - 1) : 0u));
  if (exp == -1023) return sign;  // doubles below 2^-1022 round to zero in both formats
  frac |= 1ull << 52;
  // Keep mant+1 bits of the significand; fewer below the format's least normal exponent.
  int drop = 52 - mant;
  int e = exp + bias;
  if (e < 1) {
    drop += 1 - e;
    e = 1;
  }
  if (drop > 60) return sign;
  const std::uint64_t kept = frac >> drop;
  const std::uint64_t rest = frac & ((1ull << drop) - 1);
  const std::uint64_t half = 1ull << (drop - 1);
  const std::uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
  // A carry out of the significand moves into the exponent by itself; e-1 since `rounded` holds the leading bit.
  const std::uint64_t out = (static_cast<std::uint64_t>(e - 1) << mant) + rounded;
  return static_cast<std::uint16_t>(sign | (out >= inf ? inf : out));
}

constexpr double to_double(std::uint16_t h, int mant, int bias) {
  const std::uint64_t sign = static_cast<std::uint64_t>(h >> 15) << 63;
  const int exp = (h & 0x7fff) >> mant;
  const std::uint64_t frac = h & ((1u << mant) - 1);
  if (exp == 2 * bias + 1) return std::bit_cast<double>(sign | 0x7ffull << 52 | frac << (52 - mant));
  // frac * 2^(1-bias-mant) below, (2^mant + frac) * 2^(exp-bias-mant) above: exact in double.
  const auto m = static_cast<double>(exp == 0 ? frac : frac | 1ull << mant);
  const int e = (exp == 0 ? 1 : exp) - bias - mant;
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
  return (sign ? -1.0 : 1.0) * m * scale;
}
}  // namespace half_detail

constexpr std::uint16_t f16_bits(double d) { return half_detail::from_double(d, 10, 15); }
constexpr std::uint16_t bf16_bits(double d) { return half_detail::from_double(d, 7, 127); }
constexpr double f16_value(std::uint16_t h) { return half_detail::to_double(h, 10, 15); }
constexpr double bf16_value(std::uint16_t h) { return half_detail::to_double(h, 7, 127); }

}  // namespace tfvm
