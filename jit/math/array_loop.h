// The loop that makes an array function of a template, and the table of all of them for one type.
#pragma once

#include <algorithm>
#include <iterator>

#include "jit/math/array.h"
#include "jit/math/atan.h"
#include "jit/math/basic.h"
#include "jit/math/digamma.h"
#include "jit/math/erf.h"
#include "jit/math/exp.h"
#include "jit/math/gamma.h"
#include "jit/math/hyperbolic.h"
#include "jit/math/inverse_hyperbolic.h"
#include "jit/math/log.h"
#include "jit/math/native.h"
#include "jit/math/pow.h"
#include "jit/math/roots.h"
#include "jit/math/trig.h"

namespace tfvm::math {

template <int Arity, class B, class Fn>
inline typename B::F apply(B b, Fn fn, const typename B::Scalar* x, const typename B::Scalar* y,
                           const typename B::Scalar* z) {
  if constexpr (Arity == 1) return fn(b, B::load(x));
  if constexpr (Arity == 2) return fn(b, B::load(x), B::load(y));
  if constexpr (Arity == 3) return fn(b, B::load(x), B::load(y), B::load(z));
}

/// The last n < lanes elements, through copies filled up with their first element (a filler that costs no rare path
/// more).
template <int Arity, class T, int N, class Fn>
[[gnu::noinline, gnu::flatten]] void array_tail(Fn fn, const T* x, const T* y, const T* z, T* out, std::size_t n) {
  using B = Native<T, N>;
  T copies[3][N];
  const T* operands[3] = {x, y, z};
  for (int k = 0; k < Arity; ++k) {
    std::fill(std::begin(copies[k]), std::end(copies[k]), operands[k][0]);
    std::copy_n(operands[k], n, copies[k]);
  }
  T results[N];
  B::store(results, apply<Arity>(B{}, fn, copies[0], copies[1], copies[2]));
  std::copy_n(results, n, out);
}

/// Flattened, for the functions of a few hundred operations are beyond what the compiler inlines by itself.
template <int Arity, class T, class Fn>
[[gnu::flatten]] void array_loop(const T* x, const T* y, const T* z, T* out, std::size_t n) {
  constexpr int lanes = 32 / sizeof(T);
  using One = Native<T, 1>;
  using Many = Native<T, lanes>;
  constexpr Fn fn{};
  if (n == 1) {
    One::store(out, apply<Arity>(One{}, fn, x, y, z));
    return;
  }
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Many::store(out + i, apply<Arity>(Many{}, fn, x + i, Arity > 1 ? y + i : y, Arity > 2 ? z + i : z));
  }
  if (i == n) return;
  array_tail<Arity, T, lanes>(fn, x + i, Arity > 1 ? y + i : y, Arity > 2 ? z + i : z, out + i, n - i);
}

template <int Arity, class T, class Fn>
constexpr ArrayFn<T> entry(Fn) {
  return &array_loop<Arity, T, Fn>;
}

/// By MathFn.
template <class T>
constexpr std::array<ArrayFn<T>, kMathFnCount> make_array_fns() {
  return {
#define MATH_FN(name, arity) entry<arity, T>([](auto b, auto... x) { return math::name(b, x...); }),
#include "jit/math/functions.def"
#undef MATH_FN
  };
}

}  // namespace tfvm::math
