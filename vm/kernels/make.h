#pragma once
// What the makers of kernels share: one function per op, called by make_kernel (table.cpp).

#include <memory>
#include <string>
#include <utility>

#include "vm/kernels/kernel.h"

namespace tfvm {

struct KernelRequest {
  const TypeTable& types;
  const AttrTable& attrs;
  Op op;
  AttrId at;
  std::span<const TypeId> operands, results;
  bool avx512 = true;  // may be used, where the machine has it

  DType dtype(std::size_t k) const { return types.dtype(operands[k]); }
  Dims dims(std::size_t k) const { return types.dims(operands[k]); }
};

template <class Params>
Kernel kernel_of(void (*run)(const KernelCall&, const void*), Params params, std::size_t scratch = 0) {
  return {run, std::make_shared<Params>(std::move(params)), scratch};
}

inline Error no_complex(const KernelRequest& r) {
  return {Code::Unsupported, "[" + std::string(name(r.op)) + "] has no kernel for complex values"};
}

Result<Kernel> make_concat(const KernelRequest&);
Result<Kernel> make_pad(const KernelRequest&);
Result<Kernel> make_reverse(const KernelRequest&);
Result<Kernel> make_dynamic_slice(const KernelRequest&);
Result<Kernel> make_dynamic_update_slice(const KernelRequest&);
Result<Kernel> make_take(const KernelRequest&);
Result<Kernel> make_take_along(const KernelRequest&);
Result<Kernel> make_scatter_along(const KernelRequest&);
Result<Kernel> make_gather(const KernelRequest&);
Result<Kernel> make_scatter(const KernelRequest&);
Result<Kernel> make_cumulative(const KernelRequest&);
Result<Kernel> make_arg_reduce(const KernelRequest&);
Result<Kernel> make_sort(const KernelRequest&);
Result<Kernel> make_argsort(const KernelRequest&);
Result<Kernel> make_topk(const KernelRequest&);
Result<Kernel> make_searchsorted(const KernelRequest&);
Result<Kernel> make_reduce_window(const KernelRequest&);
Result<Kernel> make_select_and_scatter_add(const KernelRequest&);
Result<Kernel> make_linalg(const KernelRequest&);  // decompositions and triangular_solve
Result<Kernel> make_conv(const KernelRequest&);
Result<Kernel> make_random(const KernelRequest&);

}  // namespace tfvm
