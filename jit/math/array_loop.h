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

/// Flattened, for the functions of a few hundred operations are beyond what the compiler inlines by itself. n is whole
/// registers: the one place where a function stands in lanes, for tails come here too.
template <int Arity, class T, class Fn>
[[gnu::noinline, gnu::flatten]] void array_registers(const T* x, const T* y, const T* z, T* out, std::size_t n) {
  constexpr int lanes = 32 / sizeof(T);
  constexpr Fn fn{};
  for (std::size_t i = 0; i < n; i += lanes) {
    Native<T, lanes>::store(out + i,
                            apply<Arity>(Native<T, lanes>{}, fn, x + i, Arity > 1 ? y + i : y, Arity > 2 ? z + i : z));
  }
}

/// The last n < lanes elements, through copies filled up with their first element (a filler that costs no rare path
/// more).
template <class T>
[[gnu::noinline]] inline void array_tail(ArrayFn<T> registers, int arity, const T* x, const T* y, const T* z, T* out,
                                         std::size_t n) {
  constexpr std::size_t lanes = 32 / sizeof(T);
  T copies[3][lanes] = {};
  const T* operands[3] = {x, y, z};
  for (int k = 0; k < arity; ++k) {
    std::fill(std::begin(copies[k]), std::end(copies[k]), operands[k][0]);
    if (n > 1) std::copy_n(operands[k], n, copies[k]);
  }
  T results[lanes];
  registers(copies[0], copies[1], copies[2], results, lanes);
  if (n == 1) return void(*out = results[0]);
  std::copy_n(results, n, out);
}

enum class Length { Short, Long };

template <int Arity, class T, class Fn>
[[gnu::flatten]] void array_one(const T* x, const T* y, const T* z, T* out) {
  Native<T, 1>::store(out, apply<Arity>(Native<T, 1>{}, Fn{}, x, y, z));
}

template <int Arity, Length L, class T, class Fn>
void array_loop(const T* x, const T* y, const T* z, T* out, std::size_t n) {
  if constexpr (L == Length::Short)
    if (n == 1) return array_one<Arity, T, Fn>(x, y, z, out);
  constexpr std::size_t lanes = 32 / sizeof(T);
  const std::size_t whole = n / lanes * lanes;
  if (whole) array_registers<Arity, T, Fn>(x, y, z, out, whole);
  if (whole == n) return;
  array_tail<T>(&array_registers<Arity, T, Fn>, Arity, x + whole, Arity > 1 ? y + whole : y, Arity > 2 ? z + whole : z,
                out + whole, n - whole);
}

template <int Arity, Length L, class T, class Fn>
constexpr ArrayFn<T> entry(Fn) {
  return &array_loop<Arity, L, T, Fn>;
}

/// By MathFn.
template <class T>
constexpr std::array<ArrayFn<T>, kMathFnCount> make_array_fns() {
  return {
#define MATH_FN(name, arity, length) \
  entry<arity, Length::length, T>([](auto b, auto... x) { return math::name(b, x...); }),
#include "jit/math/functions.def"
#undef MATH_FN
  };
}

}  // namespace tfvm::math
