// Products of integers, which wrap, so that two widths serve all dtypes.
#include "vm/kernels/gemm_blocked.h"

namespace tfvm {

TFVM_GEMM(std::uint32_t)
TFVM_GEMM(std::uint64_t)

}  // namespace tfvm
