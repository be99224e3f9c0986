#pragma once
// Updates in place: which steps may write a result into the memory of an operand that nobody reads afterwards, the
// order of steps that lets more of them do so, and the memory that values share because of it.

#include <functional>

#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

// Finds the plan of a function that the planned one calls; made before it.
using PlanLookup = std::function<PlanRef(FunctionId)>;

// A flat body between its lowering and its steps.
struct PlanParts {
  const Tables& t;
  const FlatBody& flat;
  const Lowered& low;
  const PlanLookup& lookup;
};

// May the item that writes base `to` do so in the memory of `from`, provided that no later item reads `from`?
bool updates_in_place(const PlanParts& parts, const FuseItem& item, std::uint32_t from, std::uint32_t to);

// How a loop's carry is kept from trip to trip, where the body takes it as `param` and gives it as `result`.
LoopCarry::Kind carry_kind(const Plan& body, std::uint32_t param, std::uint32_t result);

// Reorders items so that those that read a value stand before the one that updates it in place, where dependences and
// the order of what can be observed (failures, asserts, prints, loops and calls) allow it. Values that the caller keeps
// (parameters that are results) and readers more than 1000 items away are left.
void readers_first(const PlanParts& parts, std::vector<FuseItem>& items);

// First writer and last reader of each base, as item + 1; 0 = none.
struct BaseUses {
  std::vector<std::uint32_t> writer, last_read;
};
BaseUses find_uses(const Lowered& low, std::span<const FuseItem> items);

// Those after items[at … last] were reordered.
void refresh(std::span<const FuseItem> items, std::uint32_t at, std::uint32_t last, BaseUses& uses);

// Per base the one whose memory it is in: itself, or that of the value which a chain of updates in place ends with
// (a result's memory, else a slot). Parameters and constants are never in a chain: their memory is the caller's.
std::vector<std::uint32_t> shared_memory(const PlanParts& parts, std::span<const FuseItem> items, const BaseUses& uses);

}  // namespace tfvm
