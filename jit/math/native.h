// The builder that computes at once, in AVX2+FMA registers.
//
// A builder B is what the functions of this folder are templates over: it gives the types B::F (float lanes), B::I
// (signed integer lanes of the same width), B::M (one truth value per lane) and the operations below. This one executes
// them; an emitter gives handles to values of generated code instead. So a template may
//   * use only these operations, never a C++ branch on a lane's value (loops over constant counts are fine);
//   * pass a Scalar wherever an F is expected: it becomes a constant;
//   * count on every operation being lane by lane: the lane count doesn't change a bit of any result.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "jit/math/native_registers.h"

namespace tfvm::math {

/// T is float or double; N is 1 or the number of lanes of a 256-bit register. Stateless: pass any instance.
template <class T, int N>
struct Native {
  using Scalar = T;
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using VF = typename Register<T, N>::F;
  using VI = typename Register<T, N>::I;
  using VU = typename Register<T, N>::U;
  static constexpr int lanes = N;

  struct M {
    VI v;
    friend M operator&(M a, M b) { return {a.v & b.v}; }
    friend M operator|(M a, M b) { return {a.v | b.v}; }
    friend M operator!(M a) { return {~a.v}; }
    friend M operator==(M a, M b) { return {~(a.v ^ b.v)}; }
  };

  /// Integers wrap; `shr` shifts in zeros.
  struct I {
    VI v;
    I(VI x) : v(x) {}
    I(VU x) : v(VI(x)) {}
    I(Int s) : v(VI{} + s) {}
    friend I operator+(I a, I b) { return VU(a.v) + VU(b.v); }
    friend I operator-(I a, I b) { return VU(a.v) - VU(b.v); }
    friend I operator&(I a, I b) { return a.v & b.v; }
    friend I operator|(I a, I b) { return a.v | b.v; }
    friend I operator^(I a, I b) { return a.v ^ b.v; }
    friend I operator<<(I a, int count) { return VU(a.v) << count; }
    friend I shr(I a, int count) { return VU(a.v) >> count; }
    friend M operator==(I a, I b) { return {a.v == b.v}; }
    friend M operator<(I a, I b) { return {a.v < b.v}; }
    friend M operator>(I a, I b) { return {a.v > b.v}; }
  };

  struct F {
    VF v;
    F() = default;
    F(VF x) : v(x) {}
    F(T s) : v(s - VF{}) {}  // minus, so that -0 stays -0
    friend F operator+(F a, F b) { return a.v + b.v; }
    friend F operator-(F a, F b) { return a.v - b.v; }
    friend F operator*(F a, F b) { return a.v * b.v; }
    friend F operator/(F a, F b) { return a.v / b.v; }
    friend F operator-(F a) { return VF(VI(a.v) ^ VI(F(T(-0.0)).v)); }
    friend M operator<(F a, F b) { return {a.v < b.v}; }
    friend M operator<=(F a, F b) { return {a.v <= b.v}; }
    friend M operator>(F a, F b) { return {a.v > b.v}; }
    friend M operator>=(F a, F b) { return {a.v >= b.v}; }
    friend M operator==(F a, F b) { return {a.v == b.v}; }
    friend M operator!=(F a, F b) { return {a.v != b.v}; }
  };

  static F fma(F a, F b, F c) { return reg::fma(a.v, b.v, c.v); }
  static F sqrt(F x) { return reg::sqrt(x.v); }
  static F floor(F x) { return reg::round<_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC>(x.v); }
  static F ceil(F x) { return reg::round<_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC>(x.v); }
  static F trunc(F x) { return reg::round<_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC>(x.v); }
  static F round(F x) { return reg::round<_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC>(x.v); }
  static F select(M m, F a, F b) { return m.v ? a.v : b.v; }
  static I select(M m, I a, I b) { return m.v ? a.v : b.v; }
  static F select(M m, T a, T b) { return select(m, F(a), F(b)); }
  static I select(M m, Int a, Int b) { return select(m, I(a), I(b)); }
  static I bits(F x) { return VI(x.v); }
  static F from_bits(I x) { return VF(x.v); }

  /// table[index], lane by lane; every index must be inside.
  static F lookup(const T* table, I index) {
    VF out{};
    for (int lane = 0; lane < N; ++lane) out[lane] = table[index.v[lane]];
    return out;
  }

  /// select(m, fn(), usual). For a `fn` that is costly and seldom needed: it runs only where some lane of m is set.
  template <class Fn>
  static F rare(M m, F usual, Fn fn) {
    constexpr int counted = (1 << N) - 1;
    if (__builtin_expect((reg::signs(VF(m.v)) & counted) == 0, 1)) return usual;
    return select(m, out_of_line(fn), usual);
  }
  template <class Fn>
  [[gnu::noinline, gnu::cold]] static F out_of_line(Fn fn) {
    return fn();
  }

  /// fn(T, T) -> T of each lane: what an emitter makes a helper call.
  template <class Fn>
  static F each(Fn fn, F x, F y) {
    VF out{};
    for (int lane = 0; lane < N; ++lane) out[lane] = fn(x.v[lane], y.v[lane]);
    return out;
  }

  /// fn(builder of double, the x widened), rounded back to T; of double itself: fn. For float functions made in double.
  template <class Fn, class... Xs>
  static F in_f64(Fn fn, Xs... x) {
    if constexpr (sizeof(T) == 8) {
      return fn(Native{}, x...);
    } else if constexpr (N == 1) {
      using Wide = Native<double, 1>;
      return _mm_cvtpd_ps(fn(Wide{}, typename Wide::F(_mm_cvtps_pd(x.v))...).v);
    } else {
      using Wide = Native<double, 4>;
      const auto low = fn(Wide{}, typename Wide::F(_mm256_cvtps_pd(_mm256_castps256_ps128(x.v)))...);
      const auto high = fn(Wide{}, typename Wide::F(_mm256_cvtps_pd(_mm256_extractf128_ps(x.v, 1)))...);
      return _mm256_set_m128(_mm256_cvtpd_ps(high.v), _mm256_cvtpd_ps(low.v));
    }
  }

  static F load(const T* p) {
    F x;
    reg::load(p, x.v);
    return x;
  }
  static void store(T* p, F x) { reg::store(p, x.v); }
};

}  // namespace tfvm::math
