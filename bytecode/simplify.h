#pragma once
// Exact algebra on one instruction about to be appended: a rewrite holds bit for bit, NaN and signed zeros included.

#include "bytecode/builder.h"

namespace tfvm {

// A value that stands for `op operands`, or kNoValue. Operands are broadcast and attributes normalised.
ValueId simplify(Builder& b, Op op, std::span<const ValueId> operands, AttrId attrs, std::span<const TypeId> types);

}  // namespace tfvm
