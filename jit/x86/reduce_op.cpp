#include "jit/x86/reduce_op.h"

#include "jit/region/reduce.h"

namespace tfvm::x86 {

std::uint64_t neutral(Op reduction, DType d) {
  if (reduction == Op::reduce_sum && is_float(d)) return std::uint64_t{1} << (8 * size_of(d) - 1);
  return find_reduction(reduction, d).identity;
}

}  // namespace tfvm::x86
