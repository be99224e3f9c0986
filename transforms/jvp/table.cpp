// Which rule differentiates which op.
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

constexpr JvpEntry kZero{JvpKind::Zero};
constexpr JvpEntry kText{JvpKind::Text};
constexpr JvpEntry linear_in(std::uint32_t operands) { return {JvpKind::Linear, operands}; }
constexpr JvpEntry by(void (*rule)(JvpCtx&)) { return {JvpKind::Rule, 0, rule}; }
constexpr JvpEntry whole(void (*rule)(JvpCtx&)) { return {JvpKind::Whole, 0, rule}; }

JvpEntry elementwise_entry(Op op) {
  switch (op) {
    case Op::sign:
    case Op::ceil:
    case Op::floor:
    case Op::round:
    case Op::trunc:
    case Op::nextafter:
    case Op::not_:
    case Op::popcount:
    case Op::clz:
    case Op::isnan:
    case Op::isinf:
    case Op::isfinite:
    case Op::bitcast:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::shr:
      return kZero;
    case Op::cast:
    case Op::real:
    case Op::imag:
    case Op::conj:
      return linear_in(0b1);
    case Op::select:
      return linear_in(0b110);
    default:
      return info(op).kind == OpKind::Compare ? kZero : kText;
  }
}

JvpEntry control_entry(Op op) {
  switch (op) {
    case Op::call:
      return whole(jvp_call);
    case Op::cond:
      return whole(jvp_cond);
    case Op::switch_:
      return whole(jvp_switch);
    case Op::while_:
      return whole(jvp_while);
    default:
      return whole(jvp_scan);
  }
}

}  // namespace

JvpEntry jvp_entry(Op op) {
  const OpKind kind = info(op).kind;
  if (is_elementwise(kind)) return elementwise_entry(op);
  if (kind == OpKind::Control) return control_entry(op);
  switch (op) {
    case Op::constant:
    case Op::iota:
    case Op::global:
    case Op::argmax:
    case Op::argmin:
    case Op::reduce_and:
    case Op::reduce_or:
    case Op::argsort:
    case Op::searchsorted:
    case Op::stop_gradient:
    case Op::assert_:
    case Op::rng_bits:
    case Op::rng_split:
    case Op::rng_fold_in:
    case Op::axis_index:
      return kZero;
    case Op::reshape:
    case Op::broadcast_to:
    case Op::full:
    case Op::transpose:
    case Op::slice:
    case Op::psum:
    case Op::all_gather:
    case Op::ppermute:
    case Op::all_to_all:
    case Op::reverse:
    case Op::reduce_sum:
    case Op::cumsum:
    case Op::dynamic_slice:
      return linear_in(0b1);
    case Op::pad:
    case Op::dynamic_update_slice:
      return linear_in(0b11);
    case Op::concat:
      return linear_in(0xffffffffu);
    case Op::take:
    case Op::take_along:
      return by(jvp_take);
    case Op::gather:
      return by(jvp_gather);
    case Op::scatter:
    case Op::scatter_along:
      return by(jvp_scatter);
    case Op::dot_general:
      return by(jvp_dot_general);
    case Op::conv:
      return by(jvp_conv);
    case Op::reduce_window:
      return by(jvp_reduce_window);
    case Op::select_and_scatter_add:
      return by(jvp_select_and_scatter_add);
    case Op::reduce_max:
    case Op::reduce_min:
      return by(jvp_reduce_extremum);
    case Op::reduce_prod:
      return by(jvp_reduce_prod);
    case Op::reduce:
      return by(jvp_reduce_fn);
    case Op::cholesky:
    case Op::lu:
    case Op::qr:
    case Op::eigh:
    case Op::svd:
      return by(jvp_decomposition);
    case Op::triangular_solve:
      return by(jvp_triangular_solve);
    case Op::sort:
      return whole(jvp_sort);
    case Op::topk:
      return by(jvp_topk);
    case Op::cumprod:
      return by(jvp_cumprod);
    case Op::cummax:
    case Op::cummin:
      return by(jvp_cumextremum);
    case Op::cumlogsumexp:
      return by(jvp_cumlogsumexp);
    case Op::pmax:
    case Op::pmin:
      return by(jvp_collective_extremum);
    case Op::name:
    case Op::clone:
    case Op::print_:
      return by(jvp_same);
    case Op::optimization_barrier:
      return by(jvp_barrier);
    case Op::extern_:
    case Op::auto_functionalized:
    case Op::auto_functionalized_v2:
      return whole(jvp_custom);
    case Op::pack:
      return by(jvp_pack);
    case Op::unpack:
      return by(jvp_unpack);
    default:
      return {};
  }
}

}  // namespace tfvm
