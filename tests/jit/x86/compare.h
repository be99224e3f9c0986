#pragma once
// Runs a nest in the block interpreter and as native code, in memory between guard pages, and compares every byte.

#include "jit/x86/native.h"
#include "random_nest.h"

namespace tfvm {

enum class Compared : std::uint8_t { Equal, Different, NoCode };

// What code can be made for here: the instruction sets that this machine has, with all registers and with few.
struct CodeTarget {
  Isa isa = Isa::Avx2;
  bool few_registers = false;
};
std::vector<CodeTarget> code_targets();
std::string text(const CodeTarget& t);

// Each base has memory for exactly the elements that the nest touches; where they lie against a guard page (their end
// or their start) alternates with `seed`. NaN equals NaN. NoCode: the nest has no native code.
Compared compare_tiers(NestCompiler& compiler, const RandomNest& made, unsigned seed);

}  // namespace tfvm
