#pragma once
// The derivative rules that ride on a call, by attribute:
//   jvp              (x…, dx…) -> (y…, dy…)                    custom_jvp
//   fwd, bwd         (x…) -> (y…, r…); (r…, ct…) -> ct of x    custom_vjp; bwd alone: a call that can only be
//   transposed derivative       (x…, y…, dx…) -> dy… root             (c…, y…) -> residual of y… custom_root: the
//   callee takes (c…, further…) and gives
//                    (y…, aux…) with root(c…, y…) = 0
//   tangent_solve    (c…, y…, r…) -> v… with ∂root/∂y·v = r
//   matvec           (c…, y…) -> b…, linear in y               custom_linear_solve: the callee takes (c…, b…) and gives
//                    (y…, aux…) with matvec(c…, y…) = b
//   transpose_solve  (c…, ct…) -> (v…, aux…) with matvecᵀ(c…, v…) = ct
// Counts of c and y follow from those of root and matvec.

#include <algorithm>

#include "bytecode/attrs.h"

namespace tfvm {

inline constexpr Key kOwnRules[] = {Key::jvp,  Key::fwd,           Key::bwd,    Key::derivative,
                                    Key::root, Key::tangent_solve, Key::matvec, Key::transpose_solve};

inline bool has_own_rule(const AttrTable& attrs, AttrId call) {
  return std::ranges::any_of(kOwnRules, [&](Key k) { return attrs.has(call, k); });
}

}  // namespace tfvm
