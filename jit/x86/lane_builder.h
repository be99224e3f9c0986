#pragma once
// The builder that traces jit/math's templates into lane code. Same contract as math::Native (jit/math/native.h). A
// Scalar stays a number until an operation takes it; what is done to two numbers is done at once, with the same
// rounding.

#include "jit/math/native.h"
#include "jit/x86/lane_values.h"

namespace tfvm::x86 {

template <class T>
struct LaneBuilder {
  using Scalar = T;
  using Int = typename LaneInt<T>::Int;
  static constexpr int width = sizeof(T);

  LaneCode* code = nullptr;

  using M = LaneMask<T>;
  using I = LaneInt<T>;
  using F = LaneFloat<T>;

  F fma(F a, F b, F c) const { return lane_fma(code, width, a, b, c); }
  F sqrt(F x) const { return lane_unary(code, LaneOp::Sqrt, width, x); }
  F rounded(F x, int mode) const { return lane_unary(code, LaneOp::Round, width, x, mode); }
  F floor(F x) const { return rounded(x, 9); }
  F ceil(F x) const { return rounded(x, 10); }
  F trunc(F x) const { return rounded(x, 11); }
  F round(F x) const { return rounded(x, 8); }
  F select(M m, F a, F b) const { return lane_select(code, width, m.v, a, b); }
  I select(M m, I a, I b) const { return lane_select(code, width, m.v, a, b); }
  F select(M m, T a, T b) const { return select(m, F(a), F(b)); }
  I select(M m, Int a, Int b) const { return select(m, I(a), I(b)); }
  I bits(F x) const { return LaneValue(x); }
  F from_bits(I x) const { return LaneValue(x); }

  // The rare lanes are noted: for them the whole function is called (see LaneCall::masks), so `fn` is never traced, and
  // what only a rare part does gives anything.
  template <class Fn>
  F rare(M m, F usual, Fn) const {
    code->rare.push_back(m.v);
    return usual;
  }
  template <class Fn>
  F each(Fn, F x, F) const {
    return x;
  }
  F lookup(const T*, I) const { return F(T(0)); }

  template <class Fn, class... Xs>
  F in_f64(Fn fn, Xs... x) const {
    if constexpr (sizeof(T) == 8) {
      return fn(*this, x...);
    } else {
      using Wide = LaneBuilder<double>;
      const auto half = [&](int h) {
        const auto widen = [&](F f) -> typename Wide::F {
          if (!f.code) return double(f.number());
          return LaneValue{code, code->op(LaneOp::FloatToDouble, 8, f.id(), kNoLane, kNoLane, h)};
        };
        return lane_in(code, 8, typename Wide::F(fn(Wide{code}, widen(x)...)));
      };
      const LaneId low = half(0), high = code->lanes() * 8 <= code->reg_bytes() ? kNoLane : half(1);
      return LaneValue{code, code->op(LaneOp::DoubleToFloat, 4, low, high)};
    }
  }
};

}  // namespace tfvm::x86
