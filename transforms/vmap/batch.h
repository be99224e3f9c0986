#pragma once
// What the batching rules see. Inside a batched function the batch dim of a batched value is always 0; a rule gets the
// mapped operands with a flag each, and says the same of its results. Most rules are "same op, axes + 1".

#include <span>
#include <vector>

#include "bytecode/builder.h"
#include "transforms/vmap/axis.h"

namespace tfvm {

struct BatchCtx {
  TransformEnv& env;
  Builder& b;
  const Axis& axis;
  FunctionId source;           // the function being batched
  const Instr& in;             // of the source: attributes are those without the batch dim
  std::span<const ValueId> x;  // operands, in the new function
  std::span<const std::uint8_t> batched;
  std::vector<ValueId>& out;  // one per result
  Mask& out_batched;

  Tables& t() const { return b.tables(); }
  const AttrTable& attrs() const { return b.tables().attrs; }
  bool any_batched() const;
  // The type of operand k without the batch dim.
  Dims lane_dims(std::size_t k) const;
  // Operand k with a batch dim, broadcast where it has none.
  ValueId with_batch(std::size_t k) { return batched[k] ? x[k] : add_batch(x[k]); }
  ValueId add_batch(ValueId v);
  // v[B, dims…] as [B, 1…, dims…], to broadcast with lanes of this rank.
  ValueId align(ValueId v, std::size_t lane_rank);
  // i64[B]: the number of each lane.
  ValueId lane_index();
  // The results of no lanes at all.
  void push_no_lanes();
  void push(ValueId v, bool is_batched = true);
  // Appends the op with new attributes on `operands`; all results are batched.
  void emit(std::span<const ValueId> operands, AttrId attrs);
  // The attributes of the source with every axis in the list `key` moved behind the batch dim.
  AttrId shift_axes(Key key) const;
  AttrId shift_axis(Key key) const;
};

// One value for every lane: the same in each.
ValueId add_batch_dim(Builder& b, ValueId v, std::int64_t size);

using BatchRule = void (*)(BatchCtx&);
// The rule of an op; null where there is none (the driver then loops over lanes).
BatchRule batch_rule(Op op);

// One function per rule, by family. Named after what they handle.
void batch_elementwise(BatchCtx&);
void batch_reshape(BatchCtx&);
void batch_broadcast_to(BatchCtx&);
void batch_transpose(BatchCtx&);
void batch_slice(BatchCtx&);
void batch_pad(BatchCtx&);
void batch_concat(BatchCtx&);
void batch_axes(BatchCtx&);  // reverse, reductions
void batch_axis(BatchCtx&);  // argmax, running reductions, sort along one axis
void batch_same(BatchCtx&);  // every operand on its own: clone, name, barriers
void batch_dynamic_slice(BatchCtx&);
void batch_dynamic_update_slice(BatchCtx&);
void batch_take(BatchCtx&);
void batch_along(BatchCtx&);  // take_along, scatter_along
void batch_stack(BatchCtx&);  // leading dims are batch dims of the op itself
void batch_searchsorted(BatchCtx&);
void batch_gather(BatchCtx&);
void batch_scatter(BatchCtx&);
void batch_dot_general(BatchCtx&);
void batch_conv(BatchCtx&);
void batch_reduce_window(BatchCtx&);
void batch_select_and_scatter_add(BatchCtx&);
void batch_reduce_fn(BatchCtx&);
void batch_assert(BatchCtx&);
void batch_rng_bits(BatchCtx&);
void batch_rng_split(BatchCtx&);
void batch_rng_fold_in(BatchCtx&);
void batch_psum(BatchCtx&);
void batch_pmax(BatchCtx&);  // pmax, pmin
void batch_all_gather(BatchCtx&);
void batch_ppermute(BatchCtx&);
void batch_all_to_all(BatchCtx&);
void batch_axis_index(BatchCtx&);
void batch_call(BatchCtx&);
void batch_custom(BatchCtx&);  // custom ops
void batch_cond(BatchCtx&);
void batch_switch(BatchCtx&);
void batch_while(BatchCtx&);
void batch_scan(BatchCtx&);
void batch_tape_scan(BatchCtx&);
void batch_pack(BatchCtx&);
void batch_unpack(BatchCtx&);
void batch_by_lanes(BatchCtx&);  // the fallback: a scan over lanes

}  // namespace tfvm
