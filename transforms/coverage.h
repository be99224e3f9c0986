#pragma once
// Which transform has a rule for which op: the page of `tfasm ops --coverage`, made from the tables of rules.

#include "transforms/env.h"

namespace tfvm {

struct CoverageRow {
  Op op;
  std::string jvp;        // "rule", "zero" (no derivative, or 0 everywhere), or "missing: why"
  std::string transpose;  // "rule", "-" (linear in no operand), or "missing: why"
  std::string vmap;       // "rule", "-" (no operands), "lanes" (a loop over lanes), or "missing: why"
};

// One row per op, in the order of the op table. Text rules are looked up in env.derivatives.
std::vector<CoverageRow> coverage(const TransformEnv& env);

}  // namespace tfvm
