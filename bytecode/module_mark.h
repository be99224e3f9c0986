#pragma once
// The items of a module as they are now. What comes behind them goes again, unless it is kept: so that whatever fails
// on the way, memory too, adds nothing. Pools keep what they got, which nothing refers to.

#include "bytecode/module.h"

namespace tfvm {

class ModuleMark {
 public:
  explicit ModuleMark(Module& m);
  ~ModuleMark();
  ModuleMark(const ModuleMark&) = delete;
  void keep() { kept_ = true; }

 private:
  bool is_new(const Item& item) const;
  Module& m_;
  const std::size_t items_, funcs_, derived_, globals_, externs_, tests_;
  bool kept_ = false;
};

}  // namespace tfvm
