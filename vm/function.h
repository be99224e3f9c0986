#pragma once
// Functions that are ready to be called, and the values that they take and give.

#include <memory>
#include <string>
#include <vector>

#include "vm/eager/code.h"
#include "vm/plan/plan.h"

namespace tfvm {

class FunctionWrapper;
struct FunctionLines;

// A value outside of programs: a tensor, or a pack as its tensors.
struct Value {
  TypeId type = kNone<TypeId>;  // of a tensor: as it was when the value was made (VM::forget)
  std::vector<Tensor> leaves;
  std::shared_ptr<const void> hold;  // of a pack: what it was made of stays
  const Tensor& tensor() const { return leaves.front(); }
};

// What a function is specialised for: a tensor's dtype and dims, or the type of a pack. Any strides will do, and so
// does any memory but what the wrapper of a function that writes tells apart (functionalize/arguments.h).
struct ArgType {
  DType dtype = DType::F32;
  std::vector<std::int64_t> dims;
  TypeId pack = kNone<TypeId>;
  friend bool operator==(const ArgType&, const ArgType&) = default;
};
std::string text(const ArgType& a);  // "f32[2,3]", "pack"

// Its plan takes the globals first; inputs and results are those of the language. A full one has no plan: it runs as
// written on the tensors given, so writes are seen by the caller, and results may alias.
struct Function {
  FunctionId id;  // as instantiated; while `hold` stays
  PlanRef plan;
  PlanRef flagged;  // with VmOptions::nan_trap, beside `plan`: one more result where values are nan that results hide
  bool on_tensors = false, is_trapped = false;  // it is to be called through VM::call; with a trap
  EagerRef eager;
  std::shared_ptr<FunctionWrapper> wrapper;  // with VmOptions::functionalize
  std::vector<std::int64_t> globals;
  std::vector<TypeId> inputs, results;
  std::vector<ArgType> guards;                // of each input
  std::vector<ValueType> in, out;             // the tensors of inputs and results
  std::vector<std::uint8_t> packs;            // per result: it is one
  std::vector<std::ptrdiff_t> result_leaves;  // tensors of each result
  std::vector<std::uint8_t> kept;             // of tensors of results: those that packs are made of, as Context::call
  std::shared_ptr<FunctionLines> lines;
  std::shared_ptr<const void> hold;  // where it has packs or a wrapper: what it was made of stays
};

}  // namespace tfvm
