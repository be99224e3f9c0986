#pragma once
// Typed functions as text: what a pass made, readable, and a module again when it is parsed.

#include <span>
#include <string>

#include "bytecode/tables.h"

namespace tfvm {

struct FunctionText {
  bool types = true;      // `: f32[3]` behind each instruction that has results
  bool defaults = false;  // attributes that have the row's default, too
  bool lines = false;     // `// file:line` behind each instruction, where known
  bool callees = true;    // the functions that it calls, behind it
};

// func @loss.grad(%x: f32[3]) -> f32[3] {
//   %d = mul %x, 2.0 : f32[3]
//   …
// Names come from the debug information and are made unique; constants stand where they are used if they read back with
// their dtype, else in `clone … : type`. Functions are named by the passes that made them; own rules of a callee stand
// at its head, as {custom_jvp=@rule}. `tables` only grows (defaults of attributes).
std::string print_function(Tables& tables, FunctionId f, const FunctionText& options = {});
// Several functions, each once, with what they call.
std::string print_functions(Tables& tables, std::span<const FunctionId> fs, const FunctionText& options = {});

// A constant as a literal: nested lists; hex"…" beyond 256 elements.
std::string constant_text(const Tables& tables, ConstId c);

}  // namespace tfvm
