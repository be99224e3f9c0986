#pragma once
// Functions of one op, and values for their operands.

#include "tests/random/check.h"
#include "tests/transforms/op_cases.h"

namespace tfvm::testing {

// Where the operands that are no index, predicate or key get their values: the reals in an interval, or integers in it.
struct Range {
  double low = -2, high = 2;
  bool whole = false;
};

struct OpBench {
  Bench bench;
  std::mt19937_64 rng{7};

  Tables& t() { return bench.t(); }
  TypeId type(const OpOperand& o, DType group);
  Tensor random(const OpOperand& o, Dims dims, DType group, Range range = {});
  // The op as a function; of a collective under the vmap that names its axis. Operands outside of `active` (a mask; the
  // first is bit 0) pass through stop_gradient.
  Result<FunctionId> function(Op op, const OpCase& c, DType group, std::uint32_t active = ~0u);
};

// Every op of the table that why_untested() has nothing against.
std::vector<Op> tested_ops();

}  // namespace tfvm::testing
