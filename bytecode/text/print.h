#pragma once
// Module to canonical text: one statement per line, two spaces of indent per block, attributes in written order,
// numbers as written. Reading it back gives an equal module, and printing that gives the same text.

#include <string>

#include "bytecode/module.h"

namespace tfvm {

std::string print_module(const Module& m, const StringTable& strings);
std::string print_callee(const Module& m, std::uint32_t callee, const StringTable& strings);  // "grad(@f, argnums=[1])"
std::string print_type(const Module& m, const TypePattern& type, const StringTable& strings);  // "f[..,k]"

// Canonical text that keeps comments where they stand, and at most one blank line where there is one. What `source`
// means is unchanged; formatting twice is formatting once.
Result<std::string> format_source(std::string_view source, std::string_view file, StringTable& strings);

}  // namespace tfvm
