#pragma once
// Scalar definitions of the ops that are no transcendental functions: what language.md, section 6, fixes. Branch-free,
// so that loops over them vectorise.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "jit/region/block_loop.h"

namespace tfvm::region {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
constexpr BitsOf<T> bits_of(T x) {
  return std::bit_cast<BitsOf<T>>(x);
}
template <class T>
constexpr T from_bits(BitsOf<T> b) {
  return std::bit_cast<T>(b);
}
template <class T>
inline constexpr BitsOf<T> kSign = static_cast<BitsOf<T>>(BitsOf<T>{1} << (8 * sizeof(T) - 1));
template <class T>
inline constexpr bool kFloat = std::is_floating_point_v<T>;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>)
      return a - b;
    else
      return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
// x/0 = -1 (all bits set), MIN/-1 = MIN.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>)
      return a / b;
    else if constexpr (std::is_signed_v<T>) {
      if (b == 0) return T(-1);
      if (b == T(-1)) return static_cast<T>(Wide<T>{0} - static_cast<Wide<T>>(a));
      return static_cast<T>(a / b);
    } else
      return b == 0 ? static_cast<T>(~T{0}) : static_cast<T>(a / b);
  }
};
// x rem 0 = x, MIN rem -1 = 0. Of floats it is a function of jit/math.
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T>)
      return b == 0 ? a : b == T(-1) ? T{0} : static_cast<T>(a % b);
    else
      return b == 0 ? a : static_cast<T>(a % b);
  }
};
// As math::max and math::min: any NaN gives the one whose bits are all set; -0 < +0.
template <class T>
T nan_or(T a, T b, BitsOf<T> chosen) {
  return from_bits<T>((a != a) | (b != b) ? static_cast<BitsOf<T>>(-1) : chosen);
}
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>)
      return nan_or<T>(a, b, bits_of(a > b ? a : b) & bits_of(b > a ? b : a));
    else
      return a > b ? a : b;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>)
      return nan_or<T>(a, b, bits_of(a < b ? a : b) | bits_of(b < a ? b : a));
    else
      return a < b ? a : b;
  }
};
// a*b, but a zero with the sign of the product where a factor is zero and the product is NaN.
struct ZMul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (kFloat<T>) {
      const T p = a * b;
      const T zero = from_bits<T>((bits_of(a) ^ bits_of(b)) & kSign<T>);
      return ((p != p) & ((a == 0) | (b == 0))) ? zero : p;
    } else
      return Mul{}(a, b);
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    if constexpr (kFloat<T>)
      return from_bits<T>(bits_of(a) ^ kSign<T>);
    else
      return static_cast<T>(Wide<T>{0} - static_cast<Wide<T>>(a));
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    if constexpr (kFloat<T>)
      return from_bits<T>(bits_of(a) & static_cast<BitsOf<T>>(~kSign<T>));
    else if constexpr (std::is_signed_v<T>)
      return a < 0 ? Neg{}(a) : a;
    else
      return a;
  }
};
// Zeros keep their sign, NaN stays.
struct Sign {
  template <class T>
  T operator()(T a) const {
    if constexpr (kFloat<T>)
      return a > 0 ? T(1) : a < 0 ? T(-1) : a;
    else
      return static_cast<T>((a > 0) - (a < 0));
  }
};

}  // namespace tfvm::region
