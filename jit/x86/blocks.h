#pragma once
// Loops in blocks, for accesses that go across: where the inner loop takes a stride and another loop goes to the next
// element, each line of memory is taken once for all elements of it, and not again for each of them.

#include <span>

#include "jit/x86/shape.h"

namespace tfvm::x86 {

inline constexpr std::int64_t kLine = 64, kSets = 64, kWays = 8;  // bytes; of a small first cache

// Of loops without reductions, whose order is free: puts the loop that goes along such accesses right outside the inner
// one. False where there is none, or what it would take again stays in the cache anyway.
bool find_across(NestCode& loops);

// For such loops; `sources` as in nest_arguments.
NestBlocks nest_blocks(const NestShape& shape, const NestCode& loops, std::span<const std::uint32_t> sources);

// For one or two loops without reductions, that any block of them may be run for itself.
NestBlocks nest_tiles(const NestShape& shape, const NestCode& loops, std::span<const std::uint32_t> sources);

}  // namespace tfvm::x86
