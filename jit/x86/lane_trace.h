#pragma once
// The table of traced functions for one type: included once per type, since the templates are long.

#include <array>

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
#include "jit/math/pow.h"
#include "jit/math/roots.h"
#include "jit/math/trig.h"
#include "jit/x86/lane_builder.h"
#include "jit/x86/lane_math.h"

namespace tfvm::x86 {

template <int Arity, class T, class Fn>
LaneId trace(LaneCode& code, const LaneId* x) {
  const LaneBuilder<T> b{&code};
  using F = typename LaneBuilder<T>::F;
  const auto f = [&](int k) { return F(LaneValue{&code, x[k]}); };
  constexpr Fn fn{};
  F y;
  if constexpr (Arity == 1) y = fn(b, f(0));
  if constexpr (Arity == 2) y = fn(b, f(0), f(1));
  if constexpr (Arity == 3) y = fn(b, f(0), f(1), f(2));
  return lane_in(&code, sizeof(T), y);
}

// Hundreds of operations in f64: a call of the block interpreter's function takes a few per cent of their time.
constexpr bool is_called(std::string_view name) { return name == "lgamma" || name == "digamma" || name == "erfinv"; }

template <bool Called, int Arity, class T, class Fn>
constexpr TraceFn trace_of(Fn) {
  if constexpr (Called)
    return nullptr;
  else
    return &trace<Arity, T, Fn>;
}

// By math::MathFn.
template <class T>
constexpr std::array<TraceFn, math::kMathFnCount> make_traces() {
  return {
#define MATH_FN(name, arity, length) \
  trace_of<is_called(#name), arity, T>([](auto b, auto... x) { return math::name(b, x...); }),
#include "jit/math/functions.def"
#undef MATH_FN
  };
}

template <class T>
TraceFn trace_by_name(std::string_view name) {
  static constexpr auto traces = make_traces<T>();
  const auto fn = math::math_fn(name);
  return fn ? traces[static_cast<std::size_t>(*fn)] : nullptr;
}

}  // namespace tfvm::x86
