#include "jit/x86/reduce_op.h"

#include "jit/region/reduce.h"

namespace tfvm::x86 {

Op combining(Op reduction) {
  switch (reduction) {
    case Op::reduce_sum:
      return Op::add;
    case Op::reduce_prod:
      return Op::mul;
    case Op::reduce_max:
      return Op::max;
    case Op::reduce_min:
      return Op::min;
    case Op::reduce_and:
      return Op::and_;
    default:
      return Op::or_;
  }
}

std::uint64_t neutral(Op reduction, DType d) {
  if (reduction == Op::reduce_sum && is_float(d)) return std::uint64_t{1} << (8 * size_of(d) - 1);
  return find_reduction(reduction, d).identity;
}

}  // namespace tfvm::x86
