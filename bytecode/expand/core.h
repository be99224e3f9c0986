#pragma once
// Core ops whose ranks, lists or counts of results are computed (einsum, split, movedim …): each is a few lines of C++
// that append its instructions. Others are functions of the stdlib. A name is looked up here before the stdlib.

#include <span>
#include <string_view>
#include <vector>

#include "bytecode/builder.h"

namespace tfvm {

struct ExpandCtx {
  Builder& b;
  std::span<const ValueId> in;  // in the order of the row; counts are checked, dtypes are not
  AttrId attrs;                 // complete, in the order of the row
};

struct CoreRow {
  std::string_view name;
  std::vector<OperandSpec> operands;  // as in the op table: "x:A w:A bias:A?"
  std::vector<AttrSpec> attrs;
  // Appends instructions and gives the results; reports with b.fail.
  std::vector<ValueId> (*expand)(ExpandCtx&);
};

std::span<const CoreRow> core_rows();
const CoreRow* find_core(std::string_view name);

// In full functions the results of these rows share the operand's storage: select, narrow, split …
bool is_view(const CoreRow& row);

// The functional form of a view op of kind View on x, for core functions. What is viewed is the value in row-major
// order.
ValueId viewed(Builder& b, Op op, ValueId x, AttrId attrs);

}  // namespace tfvm
