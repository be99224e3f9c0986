#pragma once
// A small function as straight code: one nest of a single point, whose nodes are all elements of all values. Machine
// code for it has no loops, no memory between steps, and one entry.

#include <optional>
#include <span>

#include "jit/region/fuse.h"
#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

// Bases are the parameters, then the results; results that are parameters are left to the plan. nullopt: it has other
// steps than can be unrolled (see loop_body.h), or too many elements.
std::optional<Nest> whole_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan);

// Is it likely to run faster than these items, in machine code?
bool is_faster(const Nest& whole, std::span<const FuseItem> items);

// The same of the body of a loop, as one_nest makes it: a trip whose values stay in registers, if there are few, beside
// one that runs the items. Of many lanes, or beside other items than nests, it is taken to be.
bool is_faster_in_loop(const Nest& body, std::span<const FuseItem> items, bool is_scan);

}  // namespace tfvm
