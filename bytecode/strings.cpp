#include "bytecode/strings.h"

#include <iterator>

namespace tfvm {

namespace {
constexpr std::string_view kKeyNames[] = {
#define KEY(n) #n,
#define KEY2(n, text) text,
#include "bytecode/keys.def"
#undef KEY
#undef KEY2
};
static_assert(std::size(kKeyNames) == static_cast<std::size_t>(Key::kCount));
}  // namespace

StringTable::StringTable() {
  for (std::string_view k : kKeyNames) intern(k);
}

StrId StringTable::intern(std::string_view s) {
  if (auto it = ids_.find(s); it != ids_.end()) return it->second;
  const auto id = static_cast<StrId>(items_.size());
  ids_.emplace(items_.emplace_back(s), id);
  return id;
}

StrId StringTable::find(std::string_view s) const {
  const auto it = ids_.find(s);
  return it == ids_.end() ? kNone<StrId> : it->second;
}

}  // namespace tfvm
