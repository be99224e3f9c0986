#pragma once
// Finds the ids of interned items by their hashes: open addressing, at most half full. Nothing is taken out but by
// `forget`, which drops all ids from one on.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bytecode/ids.h"

namespace tfvm {

template <class Id>
class IdMap {
 public:
  // The id of this hash for which is_same(id), or kNone.
  template <class Same>
  Id find(std::uint64_t hash, Same is_same) const {
    if (slots_.empty()) return kNone<Id>;
    const auto bits = static_cast<std::uint32_t>(hash);
    for (std::size_t at = bits & mask();; at = (at + 1) & mask()) {
      const Slot& s = slots_[at];
      if (s.id == kNone<Id>) return kNone<Id>;
      if (s.hash == bits && is_same(s.id)) return s.id;
    }
  }

  void add(std::uint64_t hash, Id id) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put({id, static_cast<std::uint32_t>(hash)});
    ++size_;
  }

  // Allocates nothing. What stays is put again, each run of full slots in its order, so that nothing moves past a slot
  // that a search would stop at.
  void forget(std::uint32_t first) {
    const auto gap = std::ranges::find(slots_, kNone<Id>, &Slot::id);  // there is one: at most half are full
    const auto from = static_cast<std::size_t>(gap - slots_.begin());
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      Slot& slot = slots_[(from + k) & mask()];
      const Slot s = std::exchange(slot, {});
      if (s.id == kNone<Id>) continue;
      if (index(s.id) < first)
        put(s);
      else
        --size_;
    }
  }

 private:
  struct Slot {
    Id id = kNone<Id>;
    std::uint32_t hash = 0;
  };
  std::size_t mask() const { return slots_.size() - 1; }

  void put(Slot s) {
    std::size_t at = s.hash & mask();
    while (slots_[at].id != kNone<Id>) at = (at + 1) & mask();
    slots_[at] = s;
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.id != kNone<Id>) put(s);
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

inline constexpr std::size_t kMapEntry = 16;  // bytes of an entry, about

}  // namespace tfvm
