#pragma once
// Scalar definitions: squares, ops of floats alone, and the neighbour of a float. See scalar_ops.h.

#include "jit/region/scalar_ops.h"

namespace tfvm::region {

struct Square {
  template <class T>
  T operator()(T a) const {
    return Mul{}(a, a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T(1) / a;
  }
};
struct Floor {
  template <class T>
  T operator()(T a) const {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  T operator()(T a) const {
    return std::ceil(a);
  }
};
struct Trunc {
  template <class T>
  T operator()(T a) const {
    return std::trunc(a);
  }
};
struct Round {  // half to even, in the default rounding mode
  template <class T>
  T operator()(T a) const {
    return std::nearbyint(a);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return from_bits<T>(static_cast<BitsOf<T>>((bits_of(a) & ~kSign<T>) | (bits_of(b) & kSign<T>)));
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct ZFma {
  template <class T>
  T operator()(T a, T b, T c) const {
    const T sum = std::fma(a, b, c);
    const T zero = from_bits<T>((bits_of(a) ^ bits_of(b)) & kSign<T>);
    return ((sum != sum) & ((a == 0) | (b == 0))) ? zero + c : sum;
  }
};
struct Clamp {  // lo, x, hi
  template <class T>
  T operator()(T lo, T x, T hi) const {
    return Min{}(Max{}(x, lo), hi);
  }
};

// The neighbour of a towards b in a sign-magnitude format whose infinity has the bits `Inf`.
template <class U, U Inf>
constexpr U next_after_bits(U a, U b) {
  constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  const U ma = static_cast<U>(a & ~sign), mb = static_cast<U>(b & ~sign);
  if (ma > Inf) return a;
  if (mb > Inf) return b;
  if (a == b || (ma == 0 && mb == 0)) return b;
  if (ma == 0) return static_cast<U>((b & sign) | 1);
  const bool away = (a & sign) == (b & sign) && mb > ma;  // grows in magnitude
  return away ? static_cast<U>(a + 1) : static_cast<U>(a - 1);
}

}  // namespace tfvm::region
