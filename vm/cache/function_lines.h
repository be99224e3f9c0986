#pragma once
// The program's lines of the steps of a function. They are looked up in the debug tables, where a call fails; when
// these let go of what functions were made of (VM::forget), the lines of those still in use are written down here.

#include <map>
#include <utility>

#include "vm/function.h"

namespace tfvm {

struct FunctionLines {
  struct Line {
    Loc loc;
    std::string function;  // "vmap(@f)"
  };
  PlanRef plan;
  EagerRef eager;
  std::map<std::pair<DebugId, InstrId>, Line> lines;
};

// Writes down what `debugs` knows now of the steps of the plan or code, and of all that it calls.
void write_lines(FunctionLines& f, const DebugTable& debugs, const StringTable& strings);

}  // namespace tfvm
