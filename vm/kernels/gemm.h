#pragma once
// Matrix products in the fixed order of the language: k in blocks of 256, in each block one chain of fused
// multiply-adds (integers: wrapping) that starts at 0, and the sums of blocks added in sequence. Every path below gives
// these bits.
//
// The blocking is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34,
// 2008): panels of B are packed once per k block, panels of A once per row block, and a tile of C stays in registers.

#include <cstddef>
#include <cstdint>

#include "bytecode/dtype.h"
#include "vm/kernels/block_sink.h"

namespace tfvm {

inline constexpr std::int64_t kGemmBlockK = 256;

// Places along one side of an operand, in elements: one stride, or a table where several axes have none in common.
struct GemmAxis {
  std::int64_t stride = 0;
  const std::int64_t* table = nullptr;
  std::int64_t at(std::int64_t i) const { return table ? table[i] : i * stride; }
  bool is_unit() const { return !table && stride == 1; }
  GemmAxis from(std::int64_t first) const { return {stride, table ? table + first : nullptr}; }
};

// An operand as lanes × k: element (l, k) is data[lanes.at(l) + ks.at(k)], in elements of `dtype`.
struct GemmSource {
  const std::byte* data = nullptr;
  DType dtype = DType::F32;
  GemmAxis lanes, ks;
};

// Where the product goes: element (m, n) is data[m * row + n * col].
template <class T>
struct GemmTarget {
  T* data = nullptr;
  std::int64_t row = 0, col = 1;
};

// c = a b for a of m lanes and b of n lanes; T is float, double, uint32_t or uint64_t, to which elements are converted
// as they are read. `scratch` has gemm_scratch<T>() bytes, 64-byte aligned. `wide`: with registers of 64 bytes, where
// gemm_has_wide (gemm_wide.h). `blocks` is told of what is done.
template <class T>
void gemm(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k, GemmTarget<T> c,
          std::byte* scratch, bool wide, GemmBlocks blocks = {});

template <class T>
std::size_t gemm_scratch(std::int64_t m, std::int64_t n, std::int64_t k, bool wide);

}  // namespace tfvm
