#pragma once
// tfasm explain: one function per file of what can be explained.

#include <string>
#include <vector>

#include "vm/vm.h"

namespace tfvm::tool {

struct ExplainOptions {
  std::string what, file, function, how = "v2";
  std::vector<std::string> args;  // types of the arguments, for each call in turn
  bool json = false, code = false;
};

// guards, recompiles, fusion, batch_rule: what happens when the function is made, for all `args` in turn.
Status explain_making(VM& vm, const ExplainOptions& o);

}  // namespace tfvm::tool
