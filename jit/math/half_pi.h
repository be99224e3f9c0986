// Reduction of moderate arguments modulo pi/2.
//
// Source: Cody and Waite's reduction in three parts of pi/2, through fma; for larger ones see payne_hanek.h.
#pragma once

#include "jit/math/payne_hanek.h"

namespace tfvm::math {

template <class T>
inline constexpr T kTwoByPi = T(0x1.45f306dc9c883p-1);

/// The largest |x| that the short reduction is for.
template <class T>
inline constexpr T kShortReduction = T(sizeof(T) == 4 ? 0x1p17 : 0x1p30);

template <class B>
Angle<B> reduce_angle(B b, typename B::F x) {
  using T = typename B::Scalar;
  constexpr auto parts = Format<T>::half_pi;
  const auto n = nearest_product(b, x, kTwoByPi<T>);
  const auto first = b.fma(-n.f, parts[0], x);  // exact: it cancels
  const auto second = two_product(b, n.f, typename B::F(parts[1]));
  const auto r = two_sum(b, first, -second.hi);
  return {n.i, r.hi, b.fma(-n.f, parts[2], r.lo - second.lo)};
}

/// n pi/2 + r, r rounded. `rough` is r without the last part of pi/2, a step earlier: near enough wherever r^2 counts.
template <class B>
struct RoundedAngle {
  typename B::I n;
  typename B::F r, rough;
};

/// The same for sine and cosine; f32 does without r_low.
template <class B>
auto reduce_angle_rounded(B b, typename B::F x) {
  using T = typename B::Scalar;
  if constexpr (sizeof(T) == 8) {
    return reduce_angle(b, x);
  } else {
    constexpr auto parts = Format<T>::half_pi;
    const auto n = nearest_product(b, x, kTwoByPi<T>);
    const auto rough = b.fma(-n.f, parts[1], b.fma(-n.f, parts[0], x));
    return RoundedAngle<B>{n.i, b.fma(-n.f, parts[2], rough), rough};
  }
}

}  // namespace tfvm::math
