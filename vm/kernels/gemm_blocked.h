#pragma once
// The products of gemm.h by blocks, for the files that make them: of floats for speed, of integers for size.

#include <utility>

#include "vm/kernels/gemm.h"
#include "vm/kernels/gemm_pack.h"
#include "vm/kernels/gemm_runs.h"
#include "vm/kernels/gemm_thin_converted.h"
#include "vm/kernels/gemm_tile.h"
#include "vm/kernels/gemm_wide.h"

namespace tfvm {

namespace gemm_detail {

constexpr std::int64_t kBlockM = 16 * kRows;  // rows of A packed at a time: 96 KiB of f32, within L2
constexpr std::int64_t kBlockN = 512;         // columns of B packed at a time
static_assert(kBlockM % kBlockSide == 0 && kBlockN % kBlockSide == 0);

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

inline bool is_few(std::int64_t m, std::int64_t n, std::int64_t k) { return m * n * k <= kFew; }
inline bool is_small(std::int64_t m, std::int64_t n, std::int64_t k) { return is_few(m, n, k) || (m < 2 && n < 8); }

// Are columns, side by side, read where they stand? Few rows of A leave less to do with them than packing takes, the
// fewer where many k share a set of a cache.
template <class T>
bool stays(const GemmSource& b, std::int64_t m) {
  constexpr std::int64_t kFewRows = 32, kSomeRows = 64, kApart = 2048;  // kApart: bytes
  return b.lanes.is_unit() && !b.ks.table && needs_no_conversion<T>(b) &&
         m <= (b.ks.stride * size_of(b.dtype) % kApart == 0 ? kFewRows : kSomeRows);
}

template <class T>
void gemm_packed(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                 GemmTarget<T> c, std::byte* scratch, const GemmBlocks& blocks) {
  T* packed_a = reinterpret_cast<T*>(scratch);
  T* packed_b = packed_a + kBlockM * kGemmBlockK;
  // Rows of A that few panels of B meet are read where they stand, if they are runs along k.
  bool is_of_runs = false;
  if constexpr (std::is_floating_point_v<T>)
    is_of_runs = n <= 8 * kCols<T> && a.ks.is_unit() && !a.lanes.table && needs_no_conversion<T>(a);
  const bool is_still = stays<T>(b, m);
  for (std::int64_t n0 = 0; n0 < n; n0 += kBlockN) {
    const std::int64_t nc = std::min(kBlockN, n - n0), still = is_still ? nc / kCols<T> * kCols<T> : 0;
    for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
      const std::int64_t kc = std::min(kGemmBlockK, k - k0);
      pack<T, kCols<T>>(b, n0 + still, nc - still, k0, kc, kCols<T>, packed_b);
      for (std::int64_t m0 = 0; m0 < m; m0 += kBlockM) {
        const std::int64_t mc = std::min(kBlockM, m - m0);
        const std::int64_t whole = is_of_runs ? mc / kRows * kRows : 0;  // rows that are not packed
        pack<T, kRows>(a, m0 + whole, mc - whole, k0, kc, kRows, packed_a);
        for (std::int64_t j = 0; j < nc; j += kCols<T>)
          for (std::int64_t i = 0; i < mc; i += kRows) {
            const GemmTarget<T> to{c.data + (m0 + i) * c.row + (n0 + j) * c.col, c.row, c.col};
            Panel<T> panel{packed_b + (j - still) * kc};
            if (j < still) panel = {reinterpret_cast<const T*>(b.data) + k0 * b.ks.stride + n0 + j, b.ks.stride};
            const std::int64_t cols = std::min(kCols<T>, nc - j);
            if constexpr (std::is_floating_point_v<T>)
              if (i < whole) {
                const T* rows = reinterpret_cast<const T*>(a.data) + (m0 + i) * a.lanes.stride + k0;
                tile_of<T, kRows, false>(rows, a.lanes.stride, panel, kc, kRows, cols, to, k0 != 0);
                continue;
              }
            tile<T>(packed_a + (i - whole) * kc, panel, kc, std::min<std::int64_t>(kRows, mc - i), cols, to, k0 != 0);
          }
        if (k0 + kc == k) blocks.done(m0, mc, n0, nc);
      }
    }
  }
}

// Small products, and those of vectors; false: it is neither.
template <class T>
bool gemm_unpacked(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                   GemmTarget<T> c) {
  if (k == 0) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c.data[i * c.row + j * c.col] = T{};
    return true;
  }
  if (m == 0 || n == 0) return true;
  if (is_small(m, n, k)) {
    if (needs_no_conversion<T>(a))
      gemm_small(a, b, m, n, k, c);
    else
      is_few(m, n, k) ? gemm_few_converted(a, b, m, n, k, c) : gemm_row_converted(a, b, n, k, c);
    return true;
  }
  // A vector by a matrix whose lanes stand side by side is read where it stands.
  if (needs_no_conversion<T>(a)) {
    const auto* x = reinterpret_cast<const T*>(a.data);
    const auto* y = reinterpret_cast<const T*>(b.data);
    if (m == 1 && b.lanes.is_unit() && c.col == 1)
      return row_times(x + a.lanes.at(0), a.ks, y, b.ks, n, k, c.data), true;
    if (n == 1 && a.lanes.is_unit() && c.row == 1)
      return row_times(y + b.lanes.at(0), b.ks, x, a.ks, m, k, c.data), true;
    if constexpr (std::is_floating_point_v<T>) {
      if (m == 1 && b.ks.is_unit()) return runs_times(y, b.lanes, x + a.lanes.at(0), a.ks, n, k, c.data, c.col), true;
      if (n == 1 && a.ks.is_unit()) return runs_times(x, a.lanes, y + b.lanes.at(0), b.ks, m, k, c.data, c.row), true;
    }
  }
  return false;
}

}  // namespace gemm_detail

template <class T>
std::size_t gemm_scratch(std::int64_t m, std::int64_t n, std::int64_t k, bool wide) {
  using namespace gemm_detail;
  if (is_small(m, n, k)) return 0;
  if constexpr (std::is_floating_point_v<T>)
    if (wide) return gemm_wide_scratch<T>(std::max(n, m));
  return static_cast<std::size_t>((kBlockM + round_up(std::min(kBlockN, std::max(n, m)), kCols<T>)) * kGemmBlockK) *
         sizeof(T);
}

template <class T>
void gemm(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k, GemmTarget<T> c,
          std::byte* scratch, bool wide, GemmBlocks blocks) {
  using namespace gemm_detail;
  if (gemm_unpacked(a, b, m, n, k, c)) return blocks.done(0, m, 0, n);
  // Vectors run along n: where m is the longer side of a thin product, the transposed one is computed, but for rows
  // that are runs along k, which need no packing then.
  const bool is_of_runs = wide && n > 4 && a.ks.is_unit() && !a.lanes.table;
  blocks.is_swapped = n < kCols<T> && m > n && !is_of_runs;
  const GemmSource &rows = blocks.is_swapped ? b : a, &columns = blocks.is_swapped ? a : b;
  if (blocks.is_swapped) std::swap(m, n), std::swap(c.row, c.col);
  if constexpr (std::is_floating_point_v<T>)
    if (wide) return gemm_wide(rows, columns, m, n, k, c, scratch, blocks);
  gemm_packed(rows, columns, m, n, k, c, scratch, blocks);
}

#define TFVM_GEMM(T)                                                                                                   \
  template void gemm<T>(const GemmSource&, const GemmSource&, std::int64_t, std::int64_t, std::int64_t, GemmTarget<T>, \
                        std::byte*, bool, GemmBlocks);                                                                 \
  template std::size_t gemm_scratch<T>(std::int64_t, std::int64_t, std::int64_t, bool);

}  // namespace tfvm
