#pragma once
// What elaboration gives to who runs a program: pieces of typed code, and where their inputs come from.

#include <string>
#include <variant>
#include <vector>

#include "bytecode/elaborate/globals.h"
#include "bytecode/syntax.h"

namespace tfvm {

// One runnable piece of a program. Inputs are params and buffers first (`globals`, none of a full function), then
// `inputs`.
struct Step {
  FunctionId function;
  std::vector<GlobalUse> globals;
  std::vector<Local> inputs;
  std::vector<StrId> input_names;
  std::vector<Local> rebound;  // by transpose_ …: their new values are the last results
};

// An expectation of a test: `step` gives its operands, `kind` is "expect_close", …; attributes are complete.
struct Expectation {
  StrId kind;
  AttrId attrs;
  Step step;
};

// What gives a global its first value: nothing (zeros), a constant, a path for the host's loader (relative to where the
// module is named, as those of imports are), or a function to run, whose own globals are earlier ones.
struct Initial {
  GlobalUse global;
  bool is_buffer = false;
  std::variant<std::monostate, ConstId, std::string, Step> value;
};

}  // namespace tfvm
