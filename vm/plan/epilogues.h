#pragma once
// Loop nests that go on with a product (bias, activation, derivative, an update of weights): they are run block by
// block, as those of the product are done and still in a cache.

#include "vm/plan/updates.h"

namespace tfvm {

// By item: 1 for a product of at least `large` elements whose epilogue is the item behind it, a nest over them in their
// order. Moves nests up to their product, where all else that they load is there before it.
std::vector<std::uint8_t> find_epilogues(const PlanParts& parts, std::vector<FuseItem>& items, std::int64_t large);

// The product is not done with its operands before the nest is: nothing may be written in their memory.
void keep_operands(std::span<const FuseItem> items, std::span<const std::uint8_t> epilogues, BaseUses& uses);

}  // namespace tfvm
