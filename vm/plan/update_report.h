#pragma once
// Which updates of arrays a plan makes in place, and why others copy: `tfasm explain reinplace`, and {inplace=true} on
// dynamic_update_slice, scatter and scatter_along.

#include <string>
#include <vector>

#include "bytecode/status.h"
#include "vm/plan/updates.h"

namespace tfvm {

// Fills in plan.updates, once memory is shared: `memory` as shared_memory gives it.
void note_updates(const PlanParts& parts, std::span<const FuseItem> items, const BaseUses& uses,
                  std::span<const std::uint32_t> memory, Plan& plan);

struct UpdateEntry {
  std::string op;  // "scatter"; of a loop, the copy that it makes of an updated carry before the first trip
  Loc loc;
  bool done = false, required = false;
  std::string why;         // "its operand is an input"
  std::int64_t bytes = 0;  // that are copied
};

// Of a plan that is called on inputs of its own, and of all it calls.
std::vector<UpdateEntry> updates_of(const Tables& t, const Plan& plan);

// Code::Type, with the line, for the first one that must be in place and isn't.
Status check_in_place(const Tables& t, const Plan& plan);

// "scatter line 5: in place; 0 bytes", "scatter line 5: missed: its operand is an input; 40 bytes"
std::string text(const UpdateEntry& e);

}  // namespace tfvm
