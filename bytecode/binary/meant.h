#pragma once
// Which names of parameters the code itself needs: an attribute may mean %w by w, or the group of %p.w and %p.b by p.

#include <algorithm>
#include <vector>

#include "bytecode/module.h"

namespace tfvm::tfbc {

class MeantNames {
 public:
  MeantNames(const Module& m, const StringTable& strings) : strings_(strings) {
    for (const Node& n : m.nodes)
      if (n.kind == NodeKind::Name) names_.push_back(n.str);
    std::ranges::sort(names_);
  }
  bool operator()(StrId name) const {
    if (std::ranges::binary_search(names_, name)) return true;
    const std::string_view text = strings_[name];
    const std::size_t dot = text.find('.');
    if (dot == text.npos) return false;
    return std::ranges::binary_search(names_, strings_.find(text.substr(0, dot)));
  }

 private:
  const StringTable& strings_;
  std::vector<StrId> names_;
};

}  // namespace tfvm::tfbc
