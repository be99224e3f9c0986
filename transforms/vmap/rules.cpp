// Which rule batches which op.
#include <array>

#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

BatchRule rule_of(Op op) {
  const OpKind kind = info(op).kind;
  if (is_elementwise(kind)) return batch_elementwise;
  if (kind == OpKind::Cumulative) return batch_axis;
  switch (op) {
    case Op::reshape:
      return batch_reshape;
    case Op::broadcast_to:
    case Op::full:
      return batch_broadcast_to;
    case Op::transpose:
      return batch_transpose;
    case Op::slice:
      return batch_slice;
    case Op::pad:
      return batch_pad;
    case Op::concat:
      return batch_concat;
    case Op::reverse:
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_and:
    case Op::reduce_or:
      return batch_axes;
    case Op::argmax:
    case Op::argmin:
    case Op::sort:
    case Op::argsort:
    case Op::topk:
      return batch_axis;
    case Op::reduce:
      return batch_reduce_fn;
    case Op::dynamic_slice:
      return batch_dynamic_slice;
    case Op::dynamic_update_slice:
      return batch_dynamic_update_slice;
    case Op::take:
      return batch_take;
    case Op::gather:
      return batch_gather;
    case Op::scatter:
      return batch_scatter;
    case Op::take_along:
    case Op::scatter_along:
      return batch_along;
    case Op::cholesky:
    case Op::triangular_solve:
    case Op::lu:
    case Op::qr:
    case Op::eigh:
    case Op::svd:
      return batch_stack;
    case Op::searchsorted:
      return batch_searchsorted;
    case Op::conv:
      return batch_conv;
    case Op::reduce_window:
      return batch_reduce_window;
    case Op::select_and_scatter_add:
      return batch_select_and_scatter_add;
    case Op::dot_general:
      return batch_dot_general;
    case Op::optimization_barrier:
    case Op::stop_gradient:
    case Op::name:
    case Op::clone:
      return batch_same;
    case Op::assert_:
      return batch_assert;
    case Op::rng_bits:
      return batch_rng_bits;
    case Op::rng_split:
      return batch_rng_split;
    case Op::rng_fold_in:
      return batch_rng_fold_in;
    case Op::psum:
      return batch_psum;
    case Op::pmax:
    case Op::pmin:
      return batch_pmax;
    case Op::all_gather:
      return batch_all_gather;
    case Op::ppermute:
      return batch_ppermute;
    case Op::all_to_all:
      return batch_all_to_all;
    case Op::axis_index:
      return batch_axis_index;
    case Op::extern_:
    case Op::auto_functionalized:
    case Op::auto_functionalized_v2:
      return batch_custom;
    case Op::call:
      return batch_call;
    case Op::cond:
      return batch_cond;
    case Op::switch_:
      return batch_switch;
    case Op::while_:
      return batch_while;
    case Op::scan:
      return batch_scan;
    case Op::tape_scan:
      return batch_tape_scan;
    case Op::pack:
      return batch_pack;
    case Op::unpack:
      return batch_unpack;
    default:
      return nullptr;
  }
}

}  // namespace

BatchRule batch_rule(Op op) {
  static const std::array<BatchRule, kOps> kRules = [] {
    std::array<BatchRule, kOps> t{};
    for (std::size_t i = 0; i < kOps; ++i) t[i] = rule_of(static_cast<Op>(i));
    return t;
  }();
  return kRules[static_cast<std::size_t>(op)];
}

}  // namespace tfvm
