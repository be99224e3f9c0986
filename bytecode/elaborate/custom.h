#pragma once
// Custom ops: what `extern op` declares becomes an entry of the tables, and a statement of one an instruction `extern`.

#include "bytecode/elaborate/pattern.h"

namespace tfvm {

// Enters every `extern op` of `m`, which must outlive the tables' use of it. {lists=["xs"]} names parameters that take
// a list of operands. The types of the declaration are checked at each instruction and give the result types.
Status check_externs(const Tables& t, const Module& m);  // fails where declare_externs would
Status declare_externs(Tables& t, const Module& m);

}  // namespace tfvm
