#pragma once
// Small edits of nests.

#include <cstdint>

#include "jit/region/nest.h"

namespace tfvm {

// The place of an access, or of a node, that is put at the end where the nest has no equal one.
std::uint32_t add_access(Nest& n, const Access& a);
std::uint32_t add_node(Nest& n, const NestNode& node);

// Keeps the nodes that a store or a reduction needs, and their accesses.
void compact(Nest& n);

}  // namespace tfvm
