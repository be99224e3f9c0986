#pragma once
// One function that a loop runs again and again, its body or its condition, and what of it can be done before the loop.

#include "transforms/env.h"
#include "transforms/simplify/failures.h"

namespace tfvm {

struct Region {
  FunctionId f;
  std::size_t consts;           // its leading parameters
  std::vector<ValueId> before;  // per parameter: the value that it has in every trip, or kNoValue
  bool certain;                 // it runs at least once
};

struct LeanRegion {
  FunctionId f;
  std::vector<ValueId> consts;  // operands for its leading parameters
};

// Appends to `b` what each trip of the region would make anew; the region takes it as further constants, and constants
// that it no longer reads go. The same region where there is nothing. What may fail leaves only a region that runs at
// least once, and only where nothing before it can fail or act; constants, broadcasts and views cost nothing and stay
// beside their use.
Result<LeanRegion> lean(TransformEnv& env, Failures& failures, Builder& b, const Region& region);

}  // namespace tfvm
