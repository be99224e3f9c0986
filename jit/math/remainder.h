// The exact remainder by long division, for quotients of any size.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "jit/math/format.h"

namespace tfvm::math {

/// a mod c for finite a >= 0 and c > 0 (other values give something, and never loop): a = m 2^p and c = n 2^q with
/// integer m, n; then m 2^(p - q) mod n, doubling by as many bits at a time as fit.
template <class T>
inline T remainder_by_steps(T a, T c) {
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Fmt = Format<T>;
  constexpr int bits = Fmt::mantissa_bits, spare = 63 - bits;
  constexpr U mask = (U{1} << bits) - 1;
  if (!(a < kInf<T>) || !(c > T(0)) || !(c < kInf<T>) || a < c) return a;
  const U a_bits = std::bit_cast<U>(a), c_bits = std::bit_cast<U>(c);
  const int a_field = static_cast<int>(a_bits >> bits), c_field = static_cast<int>(c_bits >> bits);
  std::uint64_t m = (a_bits & mask) | (a_field ? mask + 1 : 0);
  const std::uint64_t n = (c_bits & mask) | (c_field ? mask + 1 : 0);
  const int p = a_field ? a_field : 1, q = c_field ? c_field : 1;
  m %= n;
  for (int shift = p - q; shift > 0; shift -= spare) m = (m << (shift < spare ? shift : spare)) % n;
  if (m == 0) return T(0);
  // m < 2^(bits + 1) is the result in units of c's last place: shift it up to its own exponent field.
  const int width = static_cast<int>(std::bit_width(m));
  const int up = bits + 1 - width < q - 1 ? bits + 1 - width : q - 1;
  const U fraction = static_cast<U>(m << up);
  const int field = fraction > mask ? q - up : 0;
  return std::bit_cast<T>(static_cast<U>((static_cast<U>(field) << bits) | (fraction & mask)));
}

}  // namespace tfvm::math
