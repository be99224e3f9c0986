#pragma once
// What a plan is made from: a function with its small calls inlined, packs replaced by their tensors, dead code gone,
// and for each instruction where it came from. A flat body is not interned.
//
//   func @f(%x) { %y = call @sq(%x); %z = add %y, %x }   ->   { %y = mul %x, %x; %z = add %y, %x }

#include <unordered_map>
#include <vector>

#include "bytecode/callees.h"
#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

// The instruction that an instruction of a plan comes from, in its own function: gives the user's line.
struct StepOrigin {
  DebugId debug = kNone<DebugId>;
  InstrId instr = kNone<InstrId>;
};

struct FlatBody {
  Body body;
  std::vector<StepOrigin> origins;  // one per instruction
};

// A callee of up to `small` instructions is inlined while the caller stays below `total` (or four times its own
// length); a larger one while caller and callee together stay below `medium`. So a DAG of calls never explodes.
struct InlineLimits {
  std::uint32_t small = 48;
  std::uint32_t medium = 1024;
  std::uint32_t total = 1u << 16;
};

// The tensors that a value of this type consists of: itself, or a pack's, inner packs included.
std::vector<TypeId> leaf_types(const Tables& t, TypeId type);

// Flat bodies of everything that is reachable from a function. Iterative: neither the length of a chain of calls nor
// the size of the call graph uses stack.
class Flattener {
 public:
  explicit Flattener(Tables& tables, InlineLimits limits = {}) : t_(tables), limits_(limits) {}
  // `f` and all it reaches, callees before their callers.
  std::vector<FunctionId> add(FunctionId f);
  const FlatBody& operator[](FunctionId f) const { return flat_.at(f); }

 private:
  FlatBody flatten(FunctionId f) const;
  Tables& t_;
  InlineLimits limits_;
  std::unordered_map<FunctionId, FlatBody> flat_;
};

}  // namespace tfvm
