#pragma once
// dot_general as a batch of matrix products.

#include "vm/kernels/kernel.h"

namespace tfvm {

// f32 and f64 accumulate in their dtype, f16 and bf16 in f32, or in `accum` where it is given; integers wrap. The order
// of additions is gemm.h's. Unsupported: complex dtypes.
Result<Kernel> make_dot_kernel(const TypeTable& types, const AttrTable& attrs, AttrId at,
                               std::span<const TypeId> operands, std::span<const TypeId> results, bool avx512 = true);

}  // namespace tfvm
