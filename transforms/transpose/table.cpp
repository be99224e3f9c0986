// Which rule transposes which op.
#include "transforms/transpose/rules.h"

namespace tfvm {

TransposeRule transpose_rule(Op op) {
  switch (op) {
    case Op::neg:
      return transpose_neg;
    case Op::add:
    case Op::sub:
      return transpose_add;
    case Op::mul:
    case Op::zmul:
      return transpose_mul;
    case Op::div:
      return transpose_div;
    case Op::fma:
    case Op::zfma:
      return transpose_fma;
    case Op::cast:
      return transpose_cast;
    case Op::real:
    case Op::imag:
    case Op::conj:
      return transpose_part;
    case Op::select:
      return transpose_select;
    case Op::clone:
    case Op::name:
    case Op::print_:
      return transpose_same;
    case Op::stop_gradient:
      return transpose_drop;
    case Op::optimization_barrier:
      return transpose_barrier;
    case Op::reshape:
      return transpose_reshape;
    case Op::broadcast_to:
    case Op::full:
      return transpose_broadcast_to;
    case Op::transpose:
      return transpose_transpose;
    case Op::slice:
      return transpose_slice;
    case Op::pad:
      return transpose_pad;
    case Op::concat:
      return transpose_concat;
    case Op::reverse:
      return transpose_reverse;
    case Op::reduce_sum:
      return transpose_reduce_sum;
    case Op::cumsum:
      return transpose_cumsum;
    case Op::dynamic_slice:
      return transpose_dynamic_slice;
    case Op::dynamic_update_slice:
      return transpose_dynamic_update_slice;
    case Op::take:
      return transpose_take;
    case Op::take_along:
      return transpose_take_along;
    case Op::gather:
      return transpose_gather;
    case Op::scatter:
    case Op::scatter_along:
      return transpose_scatter;
    case Op::dot_general:
      return transpose_dot_general;
    case Op::conv:
      return transpose_conv;
    case Op::reduce_window:
      return transpose_reduce_window;
    case Op::select_and_scatter_add:
      return transpose_select_and_scatter_add;
    case Op::triangular_solve:
      return transpose_triangular_solve;
    case Op::psum:
      return transpose_psum;
    case Op::all_gather:
      return transpose_all_gather;
    case Op::ppermute:
      return transpose_ppermute;
    case Op::all_to_all:
      return transpose_all_to_all;
    case Op::call:
      return transpose_call;
    case Op::cond:
    case Op::switch_:
      return transpose_branches;
    case Op::scan:
    case Op::tape_scan:
      return transpose_scan;
    case Op::pack:
      return transpose_pack;
    case Op::unpack:
      return transpose_unpack;
    default:
      return nullptr;
  }
}

}  // namespace tfvm
