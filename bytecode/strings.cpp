#include "bytecode/strings.h"

#include <algorithm>
#include <iterator>

#include "bytecode/hash.h"
#include "bytecode/key_names.h"

namespace tfvm {

static_assert(std::size(kKeyNames) == static_cast<std::size_t>(Key::kCount));

StringTable::StringTable() : slots_(1024) {
  for (std::string_view k : kKeyNames) intern(k);
}

// Where `s` is, or where it would go.
std::size_t StringTable::probe(std::string_view s, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == kNoIndex) return i;
    if (slot.hash == static_cast<std::uint32_t>(hash >> 32) && items_[slot.id] == s) return i;
  }
}

void StringTable::grow() {
  slots_.assign(2 * slots_.size(), {});
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < items_.size(); ++id) {
    const std::uint64_t hash = hash_bytes(items_[id].data(), items_[id].size());
    std::size_t i = hash & mask;
    while (slots_[i].id != kNoIndex) i = (i + 1) & mask;
    slots_[i] = {id, static_cast<std::uint32_t>(hash >> 32)};
  }
}

StrId StringTable::intern(std::string_view s) {
  const std::uint64_t hash = hash_bytes(s.data(), s.size());
  Slot& found = slots_[probe(s, hash)];
  if (found.id != kNoIndex) return static_cast<StrId>(found.id);
  const auto id = static_cast<std::uint32_t>(items_.size());
  found = {id, static_cast<std::uint32_t>(hash >> 32)};
  char* copy = static_cast<char*>(arena_.allocate(s.size() + 1, 1));  // + 1: the empty string has an address too
  std::ranges::copy(s, copy);
  items_.push_back({copy, s.size()});
  if (2 * items_.size() > slots_.size()) grow();
  return static_cast<StrId>(id);
}

StrId StringTable::find(std::string_view s) const {
  return static_cast<StrId>(slots_[probe(s, hash_bytes(s.data(), s.size()))].id);
}

}  // namespace tfvm
