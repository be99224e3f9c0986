#pragma once
// One instruction of a full body as a function of its own, with what it reads of constants, broadcasts, and elementwise
// instructions that nothing else reads: so a chain of them is one plan, and one pass over memory.

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bytecode/builder.h"

namespace tfvm {

// Of each instruction: the one whose plan computes it. That is itself, or a later one that is its only reader (perhaps
// through others), where nothing is written in between. `exposed`: values that something may write into, or keep.
// `is_plan`: whether an instruction is a plan at all, or the plan of a write.
std::vector<std::uint32_t> group_sinks(const Body& body, const std::vector<std::uint8_t>& exposed,
                                       const std::function<bool(const Instr&)>& is_plan);

class Alone {
 public:
  Alone(const Body& body, const std::vector<InstrId>& defs, const std::vector<std::uint32_t>& sinks, std::uint32_t sink,
        Builder& b)
      : body_(body), defs_(defs), sinks_(sinks), sink_(sink), b_(b) {}

  // Parameters come first: of all operands, before the first of them is asked for. Not `inside`: as it is.
  void add_params(ValueId v, bool inside);
  // The value in the new function.
  ValueId operator()(ValueId v);
  std::vector<ValueId> params;  // in the body

 private:
  bool is_member(ValueId v) const;
  Op maker(ValueId v) const;
  const Body& body_;
  const std::vector<InstrId>& defs_;
  const std::vector<std::uint32_t>& sinks_;
  const std::uint32_t sink_;
  Builder& b_;
  std::unordered_set<ValueId> seen_;
  std::unordered_map<ValueId, ValueId> known_;
};

}  // namespace tfvm
