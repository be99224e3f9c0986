#pragma once
// concat along an inner dim, and stack, without a step of their own: nests write their values into the places that
// these have in the whole.

#include "vm/plan/updates.h"

namespace tfvm {

// Drops concats, not along the outermost dim, where nests make half of the whole at least: those nests, and nests that
// read such values, have them in the whole. All other operands are copied by nests. `epilogues`: of find_epilogues.
void interleave(const PlanParts& parts, std::vector<FuseItem>& items, std::vector<std::uint8_t>& epilogues);

}  // namespace tfvm
