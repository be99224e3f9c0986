#pragma once
// The functions of jit/math as lane code.

#include <string_view>

#include "jit/x86/lane_code.h"

namespace tfvm::x86 {

// Traces the function of one register of lanes per operand. Appends to code.rare the masks of lanes for which the
// result does not hold.
using TraceFn = LaneId (*)(LaneCode& code, const LaneId* x);

// The function of an op's name for f32 (width 4) or f64 (8); null: none, or one so long that it is better called.
TraceFn find_trace(std::string_view name, int width);

template <class T>
TraceFn find_trace_of(std::string_view name);
template <>
TraceFn find_trace_of<float>(std::string_view name);
template <>
TraceFn find_trace_of<double>(std::string_view name);

}  // namespace tfvm::x86
