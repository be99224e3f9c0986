#pragma once
// What the split rules of control flow see.

#include "bytecode/own_rules.h"
#include "bytecode/policy.h"
#include "transforms/functions.h"
#include "transforms/split/split.h"

namespace tfvm {

// An operand of the linear part: a value of the known part (a residual, unless it can be made again) or an unknown
// value of the source.
struct SplitRef {
  bool known;
  ValueId v;
};

// An instruction of the linear part: that of the source at `origin` where `whole`, else another one in its place.
struct SplitStep {
  Op op;
  AttrId attrs;
  std::vector<SplitRef> operands;
  std::vector<ValueId> results;  // values of the source; kNoValue where one is not needed
  InstrId origin;
  bool whole = false;  // operands and results are those of the instruction
};

struct SplitCtx {
  TransformEnv& env;
  Builder& b;  // of the known part
  const Instr& in;
  InstrId at;
  std::vector<ValueId>& map;  // source value -> known value; kNoValue: unknown
  std::vector<SplitStep>& steps;

  Tables& tables() const { return b.tables(); }
  FunctionId func(Key k) const { return tables().attrs[tables().attrs.get(in.attrs, k)].func; }
  bool unknown(std::size_t k) const { return map[index(in.operands[k])] == kNoValue; }
  Mask unknown() const;
  ValueId known(std::size_t k) const { return map[index(in.operands[k])]; }
  SplitRef ref(std::size_t k) const;
  void set(std::size_t result, ValueId v) { map[index(in.result(static_cast<std::uint32_t>(result)))] = v; }
  // Adds a step that gives the results flagged.
  void step(Op op, AttrId attrs, std::vector<SplitRef> operands, const Mask& results);
  // The instruction as it is becomes a step.
  void keep_whole();
};

// Appends to the known part what gives the known results; what it gives beyond them comes back.
std::vector<ValueId> emit_known(SplitCtx& c, Op op, AttrId attrs, std::span<const ValueId> operands,
                                const Mask& unknown);

// A call that is run again by the backward pass, which gets its operands and what the policy saves.
void split_checkpoint(SplitCtx& c, FunctionId callee, const CheckpointPolicy& policy, AttrId written);

void split_call(SplitCtx&);
void split_branches(SplitCtx&);  // cond, switch
void split_loop(SplitCtx&);      // scan, tape_scan, while

}  // namespace tfvm
