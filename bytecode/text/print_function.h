#pragma once
// Typed functions as text: what passes make, for people and for the goldens of passes. Small constants stand as
// literals, broadcasting is explicit, attributes that have their default are left out, and names are those of the
// program where they are known (%d.t is the tangent of %d).

#include <string>

#include "bytecode/tables.h"

namespace tfvm {

struct ListingOptions {
  bool callees = true;             // also print, behind it, every function that it reaches, each once
  std::int64_t max_elements = 16;  // of a literal; longer ones are cut
};

std::string print_function(Tables& tables, FunctionId f, ListingOptions options = {});

}  // namespace tfvm
