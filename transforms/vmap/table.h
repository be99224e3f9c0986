#pragma once
// The row of vmap in the table of transforms: vmap(@f, in_dims=0, out_dims=0, axis_size=none).

#include <optional>

#include "bytecode/transform_table.h"
#include "transforms/vmap/axis.h"

namespace tfvm {

TransformRow vmap_row();

// The callee for one lane, with the name of the axis in scope.
Result<FunctionId> vmap_callee(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args);

// The attributes chunk_size and randomness of a transform that runs lanes. Code::Type, in the name of `transform`.
struct LaneAttrs {
  std::optional<std::int64_t> chunk_size;
  Randomness randomness = Randomness::Error;
};
Result<LaneAttrs> lane_attrs(const Tables& t, AttrId attrs, std::string_view transform);

}  // namespace tfvm
