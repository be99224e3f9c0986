#pragma once
// What the locals of a function being made are.

#include <unordered_map>
#include <vector>

#include "bytecode/ids.h"
#include "bytecode/statement.h"

namespace tfvm {

// Values by local: dense for the outermost function, whose locals are numbered through, sparse for blocks.
class Slots {
 public:
  explicit Slots(std::uint32_t dense) : dense_(dense, kNoValue) {}
  ValueId get(Local l) const {
    if (l < dense_.size()) return dense_[l];
    const auto it = sparse_.find(l);
    return it == sparse_.end() ? kNoValue : it->second;
  }
  void set(Local l, ValueId v) { (l < dense_.size() ? dense_[l] : sparse_[l]) = v; }
  // Every local that is a value for which `same` holds becomes `now`; gives them.
  template <class Same>
  std::vector<Local> replace(const Same& same, ValueId now);

 private:
  std::vector<ValueId> dense_;
  std::unordered_map<Local, ValueId> sparse_;
};

template <class Same>
std::vector<Local> Slots::replace(const Same& same, ValueId now) {
  std::vector<Local> out;
  for (Local l = 0; l < dense_.size(); ++l)
    if (dense_[l] != kNoValue && same(dense_[l])) out.push_back(l);
  for (const auto& [l, v] : sparse_)
    if (v != kNoValue && same(v)) out.push_back(l);
  for (Local l : out) set(l, now);
  return out;
}

}  // namespace tfvm
