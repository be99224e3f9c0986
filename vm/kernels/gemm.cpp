#include "vm/kernels/gemm_blocked.h"

namespace tfvm {

TFVM_GEMM(float)
TFVM_GEMM(double)

}  // namespace tfvm
