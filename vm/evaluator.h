#pragma once
// Constant folding by the interpreter: one op becomes a plan of one step, so folded bits are run-time bits.

#include <unordered_map>
#include <vector>

#include "bytecode/evaluator.h"
#include "vm/context.h"
#include "vm/plan/plan.h"

namespace tfvm {

// Plans are kept by (op, attributes, operand types), up to a bound: one evaluator serves one Tables, under its lock.
class PlanEvaluator : public Evaluator {
 public:
  bool eval(Tables& tables, Op op, AttrId attrs, std::span<const ConstId> operands,
            std::span<const TypeId> result_types, std::span<ConstId> out) const override;
  void forget() { plans_.clear(); }  // see Tables::forget

 private:
  struct Key {
    Op op;
    AttrId attrs;
    std::vector<TypeId> operands;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const;
  };
  PlanRef plan(const Tables& tables, const Key& key, std::span<const TypeId> results) const;  // null: no kernel

  mutable std::unordered_map<Key, PlanRef, Hash> plans_;
  mutable Context context_;
  mutable std::vector<std::byte> bytes_;
};

}  // namespace tfvm
