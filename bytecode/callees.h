#pragma once

#include <vector>

#include "bytecode/tables.h"

namespace tfvm {

// The functions that an instruction runs: callee; then and else; branches; cond and body. Rules that ride on a call are
// not among them.
std::vector<FunctionId> callees(const Tables& t, Op op, AttrId attrs);

}  // namespace tfvm
