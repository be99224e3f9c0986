#pragma once
// How large code is: what "at most five times the instructions" is measured by.

#include "bytecode/tables.h"

namespace tfvm {

struct CodeSize {
  std::int64_t functions = 0;
  std::int64_t instructions = 0;  // literals don't count
};

// Of `f` and all that it runs, rules that ride on calls included; equal bodies count once.
CodeSize code_size(const Tables& t, FunctionId f);

}  // namespace tfvm
