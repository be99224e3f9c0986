#pragma once
// Small instances of the ops of the table: shapes, attributes and which values the operands may have. Elementwise ops
// get theirs from the table; other families from a list per op (op_maker.h).

#include <string>
#include <vector>

#include "bytecode/ops/op.h"
#include "bytecode/tables.h"

namespace tfvm::testing {

enum class OpRole : std::uint8_t { Group, Predicate, Index, Key };

struct OpOperand {
  std::vector<std::int64_t> dims;
  OpRole role = OpRole::Group;
  std::int64_t low = 0, high = 0;  // of an index
};

struct OpCase {
  std::vector<OpOperand> operands;
  AttrId attrs;
  bool lanes = false;                   // of a collective: dim 0 of the operands is the axis "i"
  std::string text(DType group) const;  // "f64[2,3], i64[]"
};

// Empty, or what the table says against testing the op alone: a hole, an effect, no operands.
std::string_view why_untested(Op op);
// The operands that are no index, predicate or key may have this dtype.
bool takes(Op op, DType group);
DType dtype_of(const OpOperand& o, DType group);
std::vector<OpCase> op_cases(Tables& t, Op op, DType group);

}  // namespace tfvm::testing
