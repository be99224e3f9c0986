#pragma once
// Walks a body and maps old values to new ones in a Builder: a pass is a rule table and ten lines of driver.

#include <span>
#include <vector>

#include "bytecode/builder.h"

namespace tfvm {

// Appends an instruction of `from` on the operands that `map` (by values of `from`) gives, and maps its results.
void copy_mapped(Builder& b, const Body& from, const Instr& in, std::span<ValueId> map);

class Rewriter {
 public:
  // New parameters are made one for one where `copy_params`; else the caller maps them.
  Rewriter(Builder& b, FunctionId source, bool copy_params = true);
  Builder& builder() { return b_; }
  const Body& source() const { return body_; }
  ValueId operator()(ValueId old) const { return map_[index(old)]; }
  void map(ValueId old, ValueId now) { map_[index(old)] = now; }
  std::span<const ValueId> operands(const Instr& in);  // mapped; valid until the next call
  // Appends the same instruction on mapped operands and maps its results.
  void copy(InstrId i);
  void begin(InstrId i) { b_.set_origin(i); }
  Result<FunctionId> seal();  // with the mapped results

 private:
  Builder& b_;
  const Body& body_;
  std::vector<ValueId> map_;
  std::vector<ValueId> scratch_;
};

}  // namespace tfvm
