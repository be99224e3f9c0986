#pragma once
// The values of reductions in lanes.

#include <cstdint>

#include "bytecode/dtype.h"
#include "bytecode/ops/op.h"

namespace tfvm::x86 {

// The bits of an element that changes none it is combined with: for sums of floats -0, not +0. Bool: as u32.
std::uint64_t neutral(Op reduction, DType d);

// The dtype of lanes in which values of `d` are combined: bool is 0 and 1 in u32.
inline DType combined_as(DType d) { return d == DType::Bool ? DType::U32 : d; }

}  // namespace tfvm::x86
