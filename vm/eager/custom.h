#pragma once
// A custom op as a step, on the tensors themselves.

#include "bytecode/tables.h"
#include "vm/custom_op.h"
#include "vm/plan/steps.h"

namespace tfvm {

struct EagerCustom {
  CustomOpRef op;
  std::vector<std::size_t> counts;  // operands of each parameter
  std::vector<std::uint8_t> mut;    // per parameter
  std::vector<ValueType> results;
};

// Code::Unsupported where the host has no kernel for the op.
Result<std::shared_ptr<const EagerCustom>> custom_step(const Tables& t, const Body& body, const Instr& in,
                                                       const CustomOps& ops);

}  // namespace tfvm
