#pragma once
// vmap: a function of one lane becomes a function of a batch.
//
//   func @f(%x: f32[3], %w: f32[3]) { %p = mul %x, %w   %r = reduce_sum %p {axes=[0]}   ret %r }
//   vmap(@f, in_dims=[0, none]) on f32[8,3], f32[3]:
//     %w.b = broadcast_to %w {shape=[8,3]}   %p.b = mul %x, %w.b   %r.b = reduce_sum %p.b {axes=[1]}   ret %r.b
//
// Control flow: a batched predicate runs every branch that some lane takes, on inputs in which the other lanes repeat
// the first lane that takes it (so nothing in the branch sees a value that the program would not have given it), and
// selects; `while` goes on until all lanes are done.

#include <optional>
#include <vector>

#include "transforms/env.h"
#include "transforms/vmap/batch.h"

namespace tfvm {

struct VmapParams {
  std::vector<std::optional<std::int64_t>>
      in_dims;  // per argument; nullopt = not batched; negative counts from the end
  std::vector<std::optional<std::int64_t>> out_dims;  // per result; one entry stands for all
  std::optional<std::int64_t> axis_size;              // needed where no argument is batched
  StrId axis_name = kNone<StrId>;                     // for collectives
  std::optional<std::int64_t> chunk_size;             // lanes at a time; the results are the same
  Randomness randomness = Randomness::Error;
};

// The argument types of `f` for one lane, given the types of the batched call; checks dims and sizes. `size` is set.
Result<std::vector<TypeId>> lane_types(TransformEnv& env, std::span<const TypeId> args, const VmapParams& params,
                                       std::int64_t& size);

// `f` takes lane types; the result takes `args`. Errors: an out_dims entry that is none for a batched output, or is out
// of range; an op that cannot be batched.
Result<FunctionId> vmap(TransformEnv& env, FunctionId f, std::span<const TypeId> args, const VmapParams& params);

// The form without moves: batch dim 0 wherever `in` says so. Outputs are batched where they depend on a batched input
// or where `force` (empty = none) asks for it; the flags come back. Memoised.
struct Batched {
  FunctionId f;
  Mask out;
};
Result<Batched> batch(TransformEnv& env, FunctionId f, const Mask& in, const Axis& axis, const Mask& force = {});

// Appends what calls the batched function for `chunk` lanes at a time; args as `in` says, all lanes at place 0.
std::vector<ValueId> batch_in_chunks(TransformEnv& env, Builder& b, FunctionId f, const Mask& in, const Axis& axis,
                                     std::int64_t chunk, const Mask& force, std::span<const ValueId> args, Mask& out);

}  // namespace tfvm
