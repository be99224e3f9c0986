#pragma once
// What the transpose rules see: one instruction, linear in some operands, and the cotangents of its results.

#include "transforms/transpose/transpose.h"
#include "transforms/values.h"

namespace tfvm {

struct TransposeCtx {
  TransformEnv& env;
  Builder& b;
  const Body& body;
  const Instr& in;
  const std::vector<ValueId>& map;          // values of the source that do not depend on linear parameters
  const std::vector<std::uint8_t>& linear;  // per value of the source
  std::vector<ValueId>& cts;                // per value of the source: sum so far; kNoValue = zero
  const DebugInfo* sibling;                 // of the source, where it is a sibling of what is built; else null

  Tables& tables() const { return b.tables(); }
  const AttrTable& attrs() const { return b.tables().attrs; }
  FunctionId func(Key k) const { return attrs()[attrs().get(in.attrs, k)].func; }
  bool is_linear(std::size_t k) const { return linear[index(in.operands[k])] != 0; }
  Mask linear_operands() const;
  ValueId known(std::size_t k) const { return map[index(in.operands[k])]; }
  std::vector<ValueId> known_operands(std::size_t from = 0) const;
  TypeId type(std::size_t k) const { return body.type(in.operands[k]); }
  Dims dims(std::size_t k) const { return b.tables().types.dims(type(k)); }
  ValueId ct(std::size_t result = 0) const { return cts[index(in.result(static_cast<std::uint32_t>(result)))]; }
  Mask ct_mask() const;
  std::vector<ValueId> active_cts() const;
  // Adds to the cotangent of operand k; no-op where the operand is not linear.
  void add(std::size_t k, ValueId v);
  // Says of `v` that it is the cotangent of the source's `of`.
  void name_ct(ValueId v, ValueId of);
  // Cotangents for the linear operands from `from` on, in order, of those flagged in `has`.
  void add_all(std::size_t from, std::span<const ValueId> values, const Mask& has);
  // Not linear in this combination of operands.
  void refuse();
};

using TransposeRule = void (*)(TransposeCtx&);
// Null where the op is linear in no operand.
TransposeRule transpose_rule(Op op);

void transpose_neg(TransposeCtx&);
void transpose_add(TransposeCtx&);  // add, sub
void transpose_mul(TransposeCtx&);  // mul, zmul
void transpose_div(TransposeCtx&);
void transpose_fma(TransposeCtx&);
void transpose_cast(TransposeCtx&);
void transpose_part(TransposeCtx&);  // real, imag, conj: of real values
void transpose_select(TransposeCtx&);
void transpose_same(TransposeCtx&);  // every operand on its own: clone, name
void transpose_drop(TransposeCtx&);  // stop_gradient
void transpose_barrier(TransposeCtx&);
void transpose_reshape(TransposeCtx&);
void transpose_broadcast_to(TransposeCtx&);
void transpose_transpose(TransposeCtx&);
void transpose_slice(TransposeCtx&);
void transpose_pad(TransposeCtx&);
void transpose_concat(TransposeCtx&);
void transpose_reverse(TransposeCtx&);
void transpose_triangular_solve(TransposeCtx&);
void transpose_reduce_sum(TransposeCtx&);
void transpose_psum(TransposeCtx&);
void transpose_all_gather(TransposeCtx&);
void transpose_ppermute(TransposeCtx&);
void transpose_all_to_all(TransposeCtx&);
void transpose_cumsum(TransposeCtx&);
void transpose_dynamic_slice(TransposeCtx&);
void transpose_dynamic_update_slice(TransposeCtx&);
void transpose_take(TransposeCtx&);
void transpose_take_along(TransposeCtx&);
void transpose_gather(TransposeCtx&);
void transpose_scatter(TransposeCtx&);  // scatter_along too
void transpose_dot_general(TransposeCtx&);
void transpose_conv(TransposeCtx&);
void transpose_reduce_window(TransposeCtx&);
void transpose_select_and_scatter_add(TransposeCtx&);
void transpose_call(TransposeCtx&);
void transpose_branches(TransposeCtx&);  // cond, switch
void transpose_scan(TransposeCtx&);      // tape_scan too
void transpose_pack(TransposeCtx&);
void transpose_unpack(TransposeCtx&);

}  // namespace tfvm
