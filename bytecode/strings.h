#pragma once
// Interned strings. The attribute keys of keys.def have the first ids, in order, so a Key is its StrId.

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

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
  StrId intern(std::string_view s);
  StrId find(std::string_view s) const;  // kNone where it was never interned
  std::string_view operator[](StrId id) const { return items_[index(id)]; }
  std::string_view operator[](Key k) const { return items_[static_cast<std::uint32_t>(k)]; }
  Key key(std::string_view s) { return static_cast<Key>(intern(s)); }

 private:
  std::deque<std::string> items_;  // stable addresses: the map's keys point here
  std::unordered_map<std::string_view, StrId> ids_;
};

constexpr StrId str(Key k) { return static_cast<StrId>(k); }
constexpr Key key(StrId s) { return static_cast<Key>(s); }

}  // namespace tfvm
