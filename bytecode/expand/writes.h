#pragma once
// What an op that writes leaves in its first operand, as a value: `add_ %x, %y` leaves `add %x, %y`. The interpreter
// computes it and copies it into the view; functionalize replaces the write by it.

#include <span>

#include "bytecode/builder.h"

namespace tfvm {

// The new value of operands[0], with its type, made of functional ops. `op` is a write that isn't one of metadata, with
// complete attributes; operands[0] is its target. Fails with "[add_] … shape …" where the result would not fit into the
// target.
ValueId written_value(Builder& b, Op op, std::span<const ValueId> operands, AttrId attrs);

// "add_" of a write {op="add"}, else the name of the row.
std::string write_name(const Tables& t, Op op, AttrId attrs);

}  // namespace tfvm
