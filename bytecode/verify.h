#pragma once
// Checks a body against the op table and the inference rules: what the Builder makes always passes; what comes from
// outside, or from a pass under test, is checked here. Recursion-free over instructions.

#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

Status verify(Tables& tables, FunctionId f);

}  // namespace tfvm
