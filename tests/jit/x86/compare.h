#pragma once
// Runs a nest in the block interpreter and as native code, in memory between guard pages, and compares every byte.

#include "jit/x86/native.h"
#include "random_nest.h"

namespace tfvm {

enum class Compared : std::uint8_t { Equal, Different, NoCode };

// The instruction sets that this machine has.
std::vector<Isa> isas();

// Each base has memory for exactly the elements that the nest touches; where they lie against a guard page (their end
// or their start) alternates with `seed`. NaN equals NaN. NoCode: the nest has no native code.
Compared compare_tiers(NestCompiler& compiler, const RandomNest& made, unsigned seed);

}  // namespace tfvm
