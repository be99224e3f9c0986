#pragma once
// Kernels: ops that are no loop nests. A kernel is chosen and its parameters are computed when the plan is made; a call
// gives it views and scratch, and allocates nothing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bytecode/attrs.h"
#include "bytecode/ops/op.h"
#include "bytecode/status.h"
#include "bytecode/types.h"
#include "vm/kernels/block_sink.h"

namespace tfvm {

// A strided tensor, as kernels see it: `data` is its first element, strides are in elements. dims and strides are the
// plan's and outlive the call. Operands may have any strides (0 and negative too); results are row-major.
struct View {
  std::byte* data = nullptr;
  DType dtype = DType::F32;
  std::int32_t rank = 0;
  const std::int64_t* dims = nullptr;
  const std::int64_t* strides = nullptr;
};

// The first failure of an index in mode "error": the least row-major position in the index operand.
struct IndexFailure {
  bool failed = false;
  std::int64_t position = 0;  // row-major, in the index operand
  std::int64_t value = 0;     // as found (negative not yet wrapped; u64 as its bits)
  std::int64_t bound = 0;     // the extent that it must be below
};

struct KernelCall {
  const View* in;
  const View* out;
  std::byte* scratch;           // 64-byte aligned, Kernel::scratch_bytes
  IndexFailure* failure;        // set where an index fails; results are then unspecified but in bounds
  BlockSink* blocks = nullptr;  // of a kernel that tells of them; null: nobody is told
};

struct Kernel {
  void (*run)(const KernelCall& call, const void* params) = nullptr;
  std::shared_ptr<const void> params;
  std::size_t scratch_bytes = 0;
  std::int64_t rows = 0, cols = 0;  // of the result, where the kernel tells of its blocks
  void operator()(const KernelCall& call) const { run(call, params.get()); }
};

// The kernel of an instruction with operands and results of these types: dot_general, conv, concat, pad, reverse,
// dynamic_slice, dynamic_update_slice, gather, scatter, take, take_along, scatter_along, argmax, argmin, cumsum,
// cumprod, cummax, cummin, cumlogsumexp, reduce_window, select_and_scatter_add, sort, argsort, topk, searchsorted,
// rng_bits, rng_split, rng_fold_in. Attributes are in the Builder's normal form. Unsupported: no kernel for the op or
// its dtype (complex). `avx512`: products may use it, where the machine has it; no bit depends on that.
Result<Kernel> make_kernel(const TypeTable& types, const AttrTable& attrs, Op op, AttrId at,
                           std::span<const TypeId> operands, std::span<const TypeId> results, bool avx512 = true);

}  // namespace tfvm
