#pragma once
// What fusion did and did not: for reports.

#include <cstdint>
#include <string>
#include <vector>

#include "jit/region/fuse.h"

namespace tfvm {

// Why the second of two nests can't be behind the first in one nest; empty where it can.
std::string why_apart(const Nest& first, const Nest& second, const FuseOptions& options);

// A value that goes through memory, though a nest makes it and another item reads it, or an item makes it and a nest
// reads it. Items are numbers in the fused list.
struct MissedFusion {
  std::uint32_t base = 0, writer = 0, reader = 0;
  std::string why;
};
std::vector<MissedFusion> missed_fusions(const std::vector<FuseItem>& items, std::size_t bases,
                                         const FuseOptions& options);

}  // namespace tfvm
