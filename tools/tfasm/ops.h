#pragma once
// Every op by name, from the table of prims, the expansions and the stdlib.

#include <string>
#include <vector>

#include "bytecode/ops/op.h"

namespace tfvm::tool {

struct OpAttr {
  std::string key, type, fallback;  // fallback: as written; "" where it must be given
};
struct OpRow {
  std::string name, family, kind;  // kind: "prim" or "core"
  std::vector<std::string> operands;
  std::vector<OpAttr> attrs;
  std::string effect, hole;  // of prims
  std::string doc;           // of the stdlib's functions
};

// Prims in the order of their table, then core ops by family and name.
std::vector<OpRow> all_ops();

// The page of which transform has a rule for which op.
int print_coverage();

}  // namespace tfvm::tool
