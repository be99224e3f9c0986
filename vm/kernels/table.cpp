// Which maker makes the kernel of which op.
#include "vm/kernels/dot.h"
#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

Result<Kernel> make_kernel(const TypeTable& types, const AttrTable& attrs, Op op, AttrId at,
                           std::span<const TypeId> operands, std::span<const TypeId> results, bool avx512) {
  const KernelRequest r{types, attrs, op, at, operands, results, avx512};
  const std::string row = "[" + std::string(name(op)) + "] ";
  for (const auto& list : {operands, results})
    for (TypeId id : list) {
      if (!types[id].is_tensor()) return Error{Code::Unsupported, row + "has no kernel for " + types.text(id)};
      if (types.rank(id) > kMaxRank)
        return Error{Code::Limit, row + "has kernels up to rank 32, got " + types.text(id)};
    }
  switch (op) {
    case Op::dot_general:
      return make_dot_kernel(types, attrs, at, operands, results, avx512);
    case Op::concat:
      return make_concat(r);
    case Op::pad:
      return make_pad(r);
    case Op::reverse:
      return make_reverse(r);
    case Op::dynamic_slice:
      return make_dynamic_slice(r);
    case Op::dynamic_update_slice:
      return make_dynamic_update_slice(r);
    case Op::take:
      return make_take(r);
    case Op::take_along:
      return make_take_along(r);
    case Op::scatter_along:
      return make_scatter_along(r);
    case Op::gather:
      return make_gather(r);
    case Op::scatter:
      return make_scatter(r);
    case Op::cumsum:
    case Op::cumprod:
    case Op::cummax:
    case Op::cummin:
    case Op::cumlogsumexp:
      return make_cumulative(r);
    case Op::argmax:
    case Op::argmin:
      return make_arg_reduce(r);
    case Op::sort:
      return make_sort(r);
    case Op::argsort:
      return make_argsort(r);
    case Op::topk:
      return make_topk(r);
    case Op::searchsorted:
      return make_searchsorted(r);
    case Op::reduce_window:
      return make_reduce_window(r);
    case Op::select_and_scatter_add:
      return make_select_and_scatter_add(r);
    case Op::conv:
      return make_conv(r);
    case Op::cholesky:
    case Op::triangular_solve:
    case Op::lu:
    case Op::qr:
    case Op::eigh:
    case Op::svd:
      return make_linalg(r);
    case Op::rng_bits:
    case Op::rng_split:
    case Op::rng_fold_in:
      return make_random(r);
    default:
      return Error{Code::Unsupported,
                   row + "has no kernel" + (info(op).hole.empty() ? "" : ": " + std::string(info(op).hole))};
  }
}

}  // namespace tfvm
