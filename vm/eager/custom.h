#pragma once
// A custom op as a step: `extern` on the tensors themselves, its functional forms (bytecode/infer/custom.cpp) on copies
// of what it writes.

#include "bytecode/tables.h"
#include "vm/custom_op.h"
#include "vm/eager/view.h"
#include "vm/plan/steps.h"

namespace tfvm {

struct EagerCustom {
  struct Operand {
    std::uint32_t at = 0;  // operand of the instruction, or number of a base
    bool is_base = false;
    std::vector<ViewOp> views;  // of the base
  };
  CustomOpRef op;
  std::vector<std::vector<Operand>> args;  // per parameter
  std::vector<std::uint8_t> mut;           // per parameter
  std::vector<ValueType> results;          // of the op
  std::vector<std::uint32_t> bases;        // operands that are copied, and given behind the results
};

// Code::Unsupported where the host has no kernel for the op.
Result<std::shared_ptr<const EagerCustom>> custom_step(const Tables& t, const Body& body, const Instr& in,
                                                       const CustomOps& ops);

}  // namespace tfvm
