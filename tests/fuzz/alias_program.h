#pragma once
// Random full programs: views of views, writes, blocks, loops, calls and custom ops on arguments that overlap or not.

#include <cstdint>
#include <string>
#include <vector>

namespace tfvm::test {

struct AliasProgram {
  std::string name;                               // of the function: inputs are `mut` but the last
  std::string loss;                               // of a function of the same inputs that gives a number, where smooth
  std::string text;                               // of both, and of what they call but kAliasHelpers
  std::vector<std::vector<std::int64_t>> inputs;  // dims, f64
  bool smooth = false;                            // it can be differentiated
};

// Functions and custom ops that the programs use.
extern const char* const kAliasHelpers;

// Number k of a seed. Where `overlap`, the function gives overlapping views of one input to another one.
AliasProgram alias_program(std::uint64_t seed, std::uint64_t k, bool overlap);

}  // namespace tfvm::test
