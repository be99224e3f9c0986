#pragma once
// A nest on its way to a shape: loops in the order in which they run, and accesses by these loops. Small loops are
// unrolled here.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/region/code.h"
#include "jit/x86/shape.h"

namespace tfvm::x86 {

enum class LoopRole : std::uint8_t { Kept, Rows, Row };  // Rows: from row to row of a result; Row: within a row

struct LooseLoop {
  std::int64_t extent = 1;
  LoopRole role = LoopRole::Kept;
};

struct LooseNest {
  std::vector<LooseLoop> loops;
  std::vector<AccessCode> accesses;
  std::vector<NestNode> nodes;
  std::vector<ShapeStore> stores;
  std::vector<ShapeReduction> reductions;

  std::size_t count(LoopRole role) const;
  std::int64_t points(LoopRole role) const;
};

// A nest with reductions and points. Nothing is unrolled yet.
LooseNest loosen(const Nest& nest, const NestCode& planned);

// Whether the loops [first, last), neighbours of one role, may be unrolled: few points, and not too much code.
bool can_unroll(const LooseNest& n, std::size_t first, std::size_t last);

// Unrolls them: each node that depends on them has a copy for each point. Where they are all the loops of Row, a
// reduction over Rows is left of its values' tree; where they are all the loops of Rows, and none of Row are left, it
// becomes a store.
void unroll(LooseNest& n, std::size_t first, std::size_t last);

// Reductions over nothing are stores.
void settle(LooseNest& n);

}  // namespace tfvm::x86
