#pragma once
// The packed product with registers of 64 bytes, for machines that have AVX-512: the same chains, so the same bits.

#include "vm/kernels/gemm.h"

namespace tfvm {

// Whether this machine can run it.
bool gemm_has_wide();

// T: float, double. As gemm for products that are packed; `scratch` has gemm_wide_scratch<T>(n) bytes.
template <class T>
void gemm_wide(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
               GemmTarget<T> c, std::byte* scratch, const GemmBlocks& blocks = {});
template <class T>
std::size_t gemm_wide_scratch(std::int64_t n);

}  // namespace tfvm
