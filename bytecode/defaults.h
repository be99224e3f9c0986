#pragma once
// An instruction's complete attributes: what was given, checked against the row, and the row's defaults, in its order.

#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

// `given` is a Dict with any subset of the row's keys in any order. Fails on unknown keys (with a near miss), missing
// required ones and values of a wrong kind; an Int stands for a Float and for a list of one.
Result<AttrId> complete_attrs(Tables& t, std::string_view op_name, std::span<const AttrSpec> row, AttrId given);

// The value that a row's default text stands for: "none", true, 2, 1e-5, "mean" in quotes, [0,1], [[],[]], f32.
AttrId parse_default(Tables& t, std::string_view text);

// The closest of `candidates` by edit distance, where it is close enough to be a slip; else "".
std::string near_miss(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tfvm
