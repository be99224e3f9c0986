#pragma once
// A custom op as a step: `extern` on the tensors themselves. Its functional forms don't come here: EagerCache has made
// them `extern` on clones, or in place (functionalize/reinplace.h).

#include "bytecode/tables.h"
#include "vm/custom_op.h"
#include "vm/plan/steps.h"

namespace tfvm {

struct EagerCustom {
  CustomOpRef op;
  std::vector<std::size_t> counts;  // operands per parameter
  std::vector<std::uint8_t> mut;    // per parameter
  std::vector<ValueType> results;
};

// Of an instruction `extern`. Code::Unsupported where the host has no kernel for the op.
Result<std::shared_ptr<const EagerCustom>> custom_step(const Tables& t, const Body& body, const Instr& in,
                                                       const CustomOps& ops);

}  // namespace tfvm
