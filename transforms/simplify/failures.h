#pragma once
// What may fail, or not end, when it runs: asserts, places looked up in mode "error", loops whose trips the data
// decide, and whatever reaches one of them. Such code runs where the program says, or not at all.

#include <unordered_map>

#include "bytecode/tables.h"

namespace tfvm {

class Failures {
 public:
  explicit Failures(const Tables& t) : t_(t) {}
  bool may_fail(Op op, AttrId attrs);
  bool may_fail(FunctionId f);

 private:
  const Tables& t_;
  std::unordered_map<BodyId, bool> known_;
};

}  // namespace tfvm
