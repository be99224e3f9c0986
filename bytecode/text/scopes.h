#pragma once
// Which local a name stands for: the last definition before a use that is in scope (syntax.h, Local).

#include <string>
#include <vector>

#include "bytecode/syntax.h"

namespace tfvm {

class Scopes {
 public:
  void begin_function() {
    restore(0);
    next_ = 0;
  }
  Local define(StrId name) {
    if (index(name) >= last_.size()) last_.resize(2 * index(name) + 64, kNoIndex);
    undo_.push_back({name, last_[index(name)]});
    return last_[index(name)] = next_++;
  }
  Local hidden() { return next_++; }  // a number that no name stands for
  Local find(StrId name) const { return index(name) < last_.size() ? last_[index(name)] : kNoIndex; }
  std::uint32_t count() const { return next_; }

  std::size_t mark() const { return undo_.size(); }
  void restore(std::size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) last_[index(undo_.back().name)] = undo_.back().before;
  }
  std::vector<StrId> names() const {  // all in scope
    std::vector<StrId> out;
    for (const Undo& u : undo_) out.push_back(u.name);
    return out;
  }

 private:
  struct Undo {
    StrId name;
    Local before;
  };
  std::vector<Local> last_;  // by name
  std::vector<Undo> undo_;
  Local next_ = 0;
};

}  // namespace tfvm
