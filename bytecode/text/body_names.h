#pragma once
// Unique names, readable where the debug information allows it.

#include <string>
#include <unordered_set>
#include <vector>

#include "bytecode/tables.h"

namespace tfvm {

class UniqueNames {
 public:
  // `wanted`, or with .1, .2 … behind it where it is taken; `fallback` where it is no name.
  std::string take(std::string wanted, const std::string& fallback);

 private:
  std::unordered_set<std::string> taken_;
};

// Of each value of a function, without %.
std::vector<std::string> value_names(const Tables& t, FunctionId f);
// "loss.grad.vmap" for what vmap made of what grad made of @loss; "f" where nothing is known.
std::string function_base_name(const Tables& t, FunctionId f);

}  // namespace tfvm
