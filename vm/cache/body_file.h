#pragma once
// Typed functions as bytes: a function with all that it calls, as it is when a plan is made of it, with lines. What
// stands in a file may have been written by anybody: it is read with every index checked and every body verified, as
// bytecode from outside is, and it is never code of the machine.
//
//   file   = record… 0 function:index global…
//   record = 1 string | 2 type | 3 constant | 4 attribute | 5 function       each refers to earlier ones, by kind

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

struct StoredFunction {
  FunctionId f;
  std::vector<std::int64_t> globals;  // its leading inputs, by their numbers
};

// nullopt where it can't be stored: it has packs or custom ops, or may write.
std::optional<std::vector<std::byte>> write_function(const Tables& t, const StoredFunction& f);

// Code::Syntax for bytes that are no such file, Code::Internal for code that is not well-typed.
Result<StoredFunction> read_function(Tables& t, std::span<const std::byte> bytes);

}  // namespace tfvm
