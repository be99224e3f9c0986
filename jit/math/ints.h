// Integer operations as the language fixes them: they wrap, and no operand traps or is undefined.
//
// Templates over the element type, which the compiler vectorises; T is a signed or unsigned integer of 8 to 64 bits.
#pragma once

#include <bit>
#include <concepts>
#include <limits>
#include <type_traits>

namespace tfvm::math {

/// The type that arithmetic is done in: unsigned, and not promoted to a signed int behind the scenes.
template <std::integral T>
using Wrapping = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

template <std::integral T>
constexpr T wrap_add(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
}

template <std::integral T>
constexpr T wrap_sub(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
}

template <std::integral T>
constexpr T wrap_mul(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
}

template <std::integral T>
constexpr T wrap_neg(T x) {
  return wrap_sub(T{0}, x);
}

/// Of the least value: itself.
template <std::integral T>
constexpr T wrap_abs(T x) {
  return x < T{0} ? wrap_neg(x) : x;
}

template <std::integral T>
constexpr T int_sign(T x) {
  return static_cast<T>((x > T{0}) - (x < T{0}));
}

/// Truncates; x / 0 has all bits set, and the least value over -1 is itself.
template <std::integral T>
constexpr T int_div(T x, T y) {
  if (y == T{0}) return static_cast<T>(~Wrapping<T>{0});
  if constexpr (std::is_signed_v<T>) {
    if (y == T{-1}) return wrap_neg(x);
  }
  return static_cast<T>(x / y);
}

/// With the sign of x; x rem 0 = x.
template <std::integral T>
constexpr T int_rem(T x, T y) {
  if (y == T{0}) return x;
  if constexpr (std::is_signed_v<T>) {
    if (y == T{-1}) return T{0};
  }
  return static_cast<T>(x % y);
}

/// Counts are read as unsigned; a count of the width or more shifts all bits out.
template <std::integral T>
constexpr T shift_left(T x, T count) {
  constexpr int width = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  const auto n = static_cast<std::make_unsigned_t<T>>(count);
  return n < width ? static_cast<T>(static_cast<Wrapping<T>>(x) << n) : T{0};
}

/// Arithmetic where T is signed: then what is left in the end is the sign.
template <std::integral T>
constexpr T shift_right(T x, T count) {
  constexpr int width = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  const auto n = static_cast<std::make_unsigned_t<T>>(count);
  if (n < width) return static_cast<T>(x >> n);
  return x < T{0} ? static_cast<T>(-1) : T{0};
}

template <std::integral T>
constexpr T popcount(T x) {
  return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
}

/// Leading zeros; of 0: the width.
template <std::integral T>
constexpr T clz(T x) {
  return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
}

/// x^n, wrapping; x^0 = 1. For n < 0: 1 div the true power x^-n, so all bits set for x = 0, 1 or -1 for those, else 0.
template <std::integral T>
constexpr T int_pow(T x, T n) {
  if (n < T{0}) {
    if (x == T{0}) return static_cast<T>(-1);
    if (x == T{1}) return x;
    return x == static_cast<T>(-1) ? ((n & T{1}) ? x : T{1}) : T{0};
  }
  T result{1};
  for (auto left = static_cast<std::make_unsigned_t<T>>(n); left != 0; left = static_cast<decltype(left)>(left >> 1)) {
    if (left & 1) result = wrap_mul(result, x);
    x = wrap_mul(x, x);
  }
  return result;
}

}  // namespace tfvm::math
