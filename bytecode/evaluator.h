#pragma once
// Constant folding asks somebody who can run an op: the interpreter, handed in by vm, so that folded bits are run-time
// bits. Without one, nothing is folded.

#include <span>

#include "bytecode/tables.h"

namespace tfvm {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Runs one pure op on constants; false where it can't or the op fails. `out` has one slot per result type.
  virtual bool eval(Tables& tables, Op op, AttrId attrs, std::span<const ConstId> operands,
                    std::span<const TypeId> result_types, std::span<ConstId> out) const = 0;
};

}  // namespace tfvm
