#pragma once
// Items of a plan that hold one nest, for tests of what is done with several.

#include <utility>
#include <vector>

#include "jit/region/build.h"
#include "jit/region/fuse.h"

namespace tfvm {

inline FuseItem item(Nest nest) {
  FuseItem i;
  i.nest = std::move(nest);
  return i;
}

// One elementwise op of f32.
inline FuseItem op(Op o, const std::vector<std::int64_t>& dims, std::vector<Access> in, const Access& out) {
  return item(elementwise_nest(o, DType::F32, dims, in, out));
}

}  // namespace tfvm
