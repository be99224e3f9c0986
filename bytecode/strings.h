#pragma once
// Interned strings. The attribute keys of keys.def have the first ids, in order, so a Key is its StrId.

#include <memory_resource>
#include <string_view>
#include <vector>

#include "bytecode/ids.h"

namespace tfvm {

enum class Key : std::uint32_t {
#define KEY(n) n,
#define KEY2(n, text) n,
#include "bytecode/keys.def"
#undef KEY
#undef KEY2
  kCount
};

class StringTable {
 public:
  StringTable();
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  StrId intern(std::string_view s);
  StrId find(std::string_view s) const;  // kNone where it was never interned
  std::string_view operator[](StrId id) const { return items_[index(id)]; }
  std::string_view operator[](Key k) const { return items_[static_cast<std::uint32_t>(k)]; }
  Key key(std::string_view s) { return static_cast<Key>(intern(s)); }

 private:
  // An id and half of its hash, so that a probe seldom reads another string. id == kNoIndex: free.
  struct Slot {
    std::uint32_t id = kNoIndex;
    std::uint32_t hash = 0;
  };
  std::size_t probe(std::string_view s, std::uint64_t hash) const;
  void grow();

  std::pmr::monotonic_buffer_resource arena_;
  std::vector<std::string_view> items_;  // addresses stay
  std::vector<Slot> slots_;              // open addressing; a power of two, at most half full
};

constexpr StrId str(Key k) { return static_cast<StrId>(k); }
constexpr Key key(StrId s) { return static_cast<Key>(s); }

}  // namespace tfvm
