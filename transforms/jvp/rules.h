#pragma once
// What the jvp rules see. A rule gets one instruction with mapped operands and their tangents, and gives the tangents
// of its results; kNoValue is a symbolic zero.

#include "bytecode/rewriter.h"
#include "transforms/functions.h"
#include "transforms/jvp/jvp.h"
#include "transforms/values.h"

namespace tfvm {

struct JvpCtx {
  TransformEnv& env;
  Builder& b;
  JvpMode mode;
  const Instr& in;             // of the source: attributes
  std::span<const ValueId> x;  // operands, in the new function
  std::span<const ValueId> t;  // their tangents
  std::vector<ValueId>& y;     // results; set before the rule runs, except for rules of control flow
  std::vector<ValueId>& dy;    // tangents of results: the rule's work
  std::map<std::pair<std::uint32_t, TypeId>, FunctionId>& text;  // instantiated text rules of this function

  Tables& tables() const { return b.tables(); }
  const AttrTable& attrs() const { return b.tables().attrs; }
  FunctionId func(Key k) const { return attrs()[attrs().get(in.attrs, k)].func; }
  bool active(std::size_t k) const { return t[k] != kNoValue; }
  Mask active() const;
  // The tangent of operand k, zeros where it is symbolic.
  ValueId tangent(std::size_t k) { return active(k) || b.failed() ? t[k] : b.zeros(b.type(x[k])); }
  // a + b, either of which may be symbolic.
  ValueId add(ValueId a, ValueId c);
};

enum class JvpKind : std::uint8_t {
  Missing,
  Zero,    // results have no tangent, or a zero one
  Linear,  // jointly linear in the operands of `linear`: the same op on tangents
  Text,    // stdlib/derivatives.tfa, one function per operand
  Rule,    // `rule`, after the op itself
  Whole,   // `rule` appends the op too
};

struct JvpEntry {
  JvpKind kind = JvpKind::Missing;
  std::uint32_t linear = 0;  // bit k: operand k; operands beyond 31 count as 31
  void (*rule)(JvpCtx&) = nullptr;
};

JvpEntry jvp_entry(Op op);
bool jvp_apply(JvpCtx& c, const JvpEntry& entry);  // false: the op has no rule

// Rules, by family. Named after what they differentiate.
void jvp_text(JvpCtx&);
void jvp_linear(JvpCtx&, std::uint32_t linear);
void jvp_same(JvpCtx&);  // every operand on its own: clone, name, print
void jvp_barrier(JvpCtx&);
void jvp_take(JvpCtx&);  // take, take_along: 0 where mode "fill" fills
void jvp_gather(JvpCtx&);
void jvp_scatter(JvpCtx&);  // scatter_along too
void jvp_dot_general(JvpCtx&);
void jvp_conv(JvpCtx&);
void jvp_reduce_window(JvpCtx&);
void jvp_select_and_scatter_add(JvpCtx&);
void jvp_reduce_extremum(JvpCtx&);
void jvp_reduce_prod(JvpCtx&);
void jvp_reduce_fn(JvpCtx&);
void jvp_decomposition(JvpCtx&);  // cholesky, lu, qr, eigh, svd
void jvp_triangular_solve(JvpCtx&);
void jvp_sort(JvpCtx&);
void jvp_topk(JvpCtx&);
void jvp_cumprod(JvpCtx&);
void jvp_cumextremum(JvpCtx&);
void jvp_cumlogsumexp(JvpCtx&);
void jvp_collective_extremum(JvpCtx&);  // pmax, pmin
void jvp_call(JvpCtx&);
void jvp_custom(JvpCtx&);                           // custom ops, by rules of their own
void jvp_root(JvpCtx&, FunctionId f);               // a call with the own rule `root`
void jvp_linear_solve(JvpCtx&, FunctionId matvec);  // … `matvec`
void jvp_cond(JvpCtx&);
void jvp_switch(JvpCtx&);
void jvp_while(JvpCtx&);
void jvp_scan(JvpCtx&);  // tape_scan too
void jvp_pack(JvpCtx&);
void jvp_unpack(JvpCtx&);

}  // namespace tfvm
