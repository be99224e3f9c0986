#pragma once
// Fusion: nests over equal loops become one nest.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/region/nest.h"

namespace tfvm {

// Decides on single merges, for who looks for the one that is wrong. Asked in the same order each time.
class FuseGate {
 public:
  virtual bool may_merge() = 0;
  virtual void merged(Nest&) {}  // told of what a merge has made; tests change it

 protected:
  ~FuseGate() = default;
};

struct FuseOptions {
  bool enabled = true;
  bool recompute = true;         // see recompute.h; pays where nests become machine code
  std::uint32_t max_nodes = 96;  // of one nest
  std::uint32_t max_accesses = 32;
  std::uint32_t max_stores = 96;  // equal nodes are one, but each may be stored in many places
  FuseGate* gate = nullptr;       // null: all merges are made
  std::int64_t large = 1 << 15;   // points from which on memory costs more than ops (stores.h)
  std::int64_t per_nest = 60000;  // picoseconds that one more nest takes (edges.h)
};

// `first`, then `second`, as one nest; nullopt where that is not sound or too large. Sound: equal extents; where both
// reduce, over the same loops; what `second` loads from a base that `first` stores, it loads at the same point; it
// loads no reduction of `first`; and it stores into no base that `first` loads from elsewhere. Both keep their stores.
std::optional<Nest> merge(const Nest& first, const Nest& second, const FuseOptions& options = {});

// Removes stores and reductions into `base`, and nodes and accesses that nothing uses then.
void drop_stores(Nest& nest, std::uint32_t base);

// One step of a straight-line plan, before fusion. Bases name values (each is written by one item only).
struct FuseItem {
  std::optional<Nest> nest;          // empty: opaque
  std::vector<std::uint32_t> reads;  // opaque: bases
  std::vector<std::uint32_t> writes;
  std::vector<std::uint32_t> origins;  // indices of the items that were merged into this one, in order; set by fuse
};

// Merges nests greedily in program order: an item joins the latest earlier nest that it may be merged with, if all it
// reads is written before that one's place. Then drops stores that neither another item nor `live_out` (by base) needs.
// The order of opaque items among each other stays.
std::vector<FuseItem> fuse(std::vector<FuseItem> items, std::span<const std::uint8_t> live_out,
                           const FuseOptions& options = {});

}  // namespace tfvm
