#pragma once
// Random full programs: views of views, writes, blocks, calls and custom ops on arguments that overlap or not. Layouts
// are followed while the text is made, so that views are ones the strides allow and writes have no overlapping target.

#include <random>
#include <string>
#include <vector>

#include "vm/layout.h"

namespace tfvm::test {

struct AliasProgram {
  std::string name;                               // of the function: inputs are `mut` but the last
  std::string text;                               // of it, and of what it calls but kAliasHelpers
  std::vector<std::vector<std::int64_t>> inputs;  // dims, f64
  bool smooth = false;                            // it can be differentiated, and has no custom op
};

// Functions and custom ops that the programs use.
extern const char* const kAliasHelpers;

// Number k of a seed. Where `overlap`, the function gives overlapping views of one input to another one.
AliasProgram alias_program(std::uint64_t seed, std::uint64_t k, bool overlap);

}  // namespace tfvm::test
