#pragma once
// Custom ops: what `extern op` declares becomes an entry of the tables, and a statement of one an instruction `extern`.

#include "bytecode/elaborate/pattern.h"

namespace tfvm {

Status check_externs(const Tables& t, const Module& m);
// What an instruction of the op number `at` of `m`, which check_externs has passed and which outlives the result, is to
// know. {lists=["xs"]} names parameters that take a list of operands. The types of the declaration are checked at each
// instruction and give the result types.
ExternInfo declared_extern(const Tables& t, const Module& m, std::size_t at);

}  // namespace tfvm
