// Tiles of 8 rows by up to 3 registers: 24 accumulators, 3 registers of B, elements of A broadcast as they are read.
// The file is compiled for any machine; only functions marked with their target use the wide registers, and only they
// are called through gemm_has_wide.
#include "vm/kernels/gemm_wide.h"

#include <algorithm>

#include <immintrin.h>

#include "vm/kernels/gemm_pack.h"
#include "vm/kernels/gemm_tile.h"

#define TFVM_WIDE [[gnu::target("avx512f")]]
#define TFVM_WIDE_INLINE [[gnu::target("avx512f"), gnu::always_inline]] static inline

namespace tfvm {

namespace {

using gemm_detail::pack;
using gemm_detail::store_edge;

template <class T>
struct Wide;

template <>
struct Wide<float> {
  using Type = __m512;
  using Mask = __mmask16;
  TFVM_WIDE_INLINE Type zero() { return _mm512_setzero_ps(); }
  TFVM_WIDE_INLINE Type load(const float* p) { return _mm512_loadu_ps(p); }
  TFVM_WIDE_INLINE Type load(Mask m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
  TFVM_WIDE_INLINE void store(float* p, Type v) { _mm512_storeu_ps(p, v); }
  TFVM_WIDE_INLINE void store(Mask m, float* p, Type v) { _mm512_mask_storeu_ps(p, m, v); }
  TFVM_WIDE_INLINE Type all(float x) { return _mm512_set1_ps(x); }
  TFVM_WIDE_INLINE Type madd(Type a, Type b, Type c) { return _mm512_fmadd_ps(a, b, c); }
};

template <>
struct Wide<double> {
  using Type = __m512d;
  using Mask = __mmask8;
  TFVM_WIDE_INLINE Type zero() { return _mm512_setzero_pd(); }
  TFVM_WIDE_INLINE Type load(const double* p) { return _mm512_loadu_pd(p); }
  TFVM_WIDE_INLINE Type load(Mask m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
  TFVM_WIDE_INLINE void store(double* p, Type v) { _mm512_storeu_pd(p, v); }
  TFVM_WIDE_INLINE void store(Mask m, double* p, Type v) { _mm512_mask_storeu_pd(p, m, v); }
  TFVM_WIDE_INLINE Type all(double x) { return _mm512_set1_pd(x); }
  TFVM_WIDE_INLINE Type madd(Type a, Type b, Type c) { return _mm512_fmadd_pd(a, b, c); }
};

constexpr int kRows = 8;  // not those of gemm_tile.h
constexpr std::int64_t kMostVectors = 3;
template <class T>
constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(T));
static_assert(kMostVectors * kLanes<float> <= gemm_detail::kMostPanel);
constexpr std::int64_t kBlockM = 16 * kRows;
template <class T>
constexpr std::int64_t kBlockN = 10 * kMostVectors* kLanes<T>;
static_assert(kBlockM % kBlockSide == 0 && kBlockN<float> % kBlockSide == 0 && kBlockN<double> % kBlockSide == 0);

// Panels as pack leaves them, of B `panel` wide; `rows` <= Rows and `cols` in Vectors registers are stored. Rows of A
// that are not packed are runs along k, `run` elements behind each other.
template <class T, int Rows, int Vectors, bool IsPacked = true>
TFVM_WIDE void tile_of(const T* a, std::int64_t run, const T* b, std::int64_t panel, std::int64_t kc, std::int64_t rows,
                       std::int64_t cols, const GemmTarget<T>& c, bool add) {
  using V = Wide<T>;
  constexpr std::int64_t L = kLanes<T>;
  typename V::Type acc[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) acc[r][v] = V::zero();
  for (std::int64_t k = 0; k < kc; ++k, a += IsPacked ? kRows : 1, b += panel) {
    typename V::Type y[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) y[v] = V::load(b + v * L);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const auto x = V::all(a[IsPacked ? r : r * run]);
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) acc[r][v] = V::madd(x, y[v], acc[r][v]);
    }
  }
  if (c.col == 1) {
    const auto last = static_cast<typename V::Mask>((1u << (cols - (Vectors - 1) * L)) - 1);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      if (r >= rows) break;
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) {
        T* to = c.data + r * c.row + v * L;
        if (v + 1 < Vectors)
          V::store(to, add ? V::load(to) + acc[r][v] : acc[r][v]);
        else
          V::store(last, to, add ? V::load(last, to) + acc[r][v] : acc[r][v]);
      }
    }
    return;
  }
  alignas(64) T edge[Rows][Vectors * L];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) V::store(edge[r] + v * L, acc[r][v]);
  store_edge(edge[0], Vectors * L, rows, cols, c, add);
}

template <class T, int Vectors>
void rows_of(const T* a, const T* b, std::int64_t panel, std::int64_t kc, std::int64_t rows, std::int64_t cols,
             const GemmTarget<T>& c, bool add) {
  if (rows > 6) return tile_of<T, 8, Vectors>(a, 0, b, panel, kc, rows, cols, c, add);
  if (rows > 4) return tile_of<T, 6, Vectors>(a, 0, b, panel, kc, rows, cols, c, add);
  if (rows > 2) return tile_of<T, 4, Vectors>(a, 0, b, panel, kc, rows, cols, c, add);
  return tile_of<T, 2, Vectors>(a, 0, b, panel, kc, rows, cols, c, add);
}

template <class T>
void tile(const T* a, const T* b, std::int64_t panel, std::int64_t kc, std::int64_t rows, std::int64_t cols,
          const GemmTarget<T>& c, bool add) {
  if (cols > 2 * kLanes<T>) return rows_of<T, 3>(a, b, panel, kc, rows, cols, c, add);
  if (cols > kLanes<T>) return rows_of<T, 2>(a, b, panel, kc, rows, cols, c, add);
  rows_of<T, 1>(a, b, panel, kc, rows, cols, c, add);
}

// kRows rows of A where they stand.
template <class T>
void tile_of_runs(const T* a, std::int64_t run, const T* b, std::int64_t panel, std::int64_t kc, std::int64_t cols,
                  const GemmTarget<T>& c, bool add) {
  if (cols > 2 * kLanes<T>) return tile_of<T, kRows, 3, false>(a, run, b, panel, kc, kRows, cols, c, add);
  if (cols > kLanes<T>) return tile_of<T, kRows, 2, false>(a, run, b, panel, kc, kRows, cols, c, add);
  tile_of<T, kRows, 1, false>(a, run, b, panel, kc, kRows, cols, c, add);
}

// A product with one panel of B reads each row of A once: where it stands, if that is a run along k.
template <class T>
void product_of_runs(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::int64_t panel, GemmTarget<T> c, std::byte* scratch) {
  T* packed_a = reinterpret_cast<T*>(scratch);
  T* packed_b = packed_a + kBlockM * kGemmBlockK;
  const std::int64_t run = a.lanes.stride, whole = m / kRows * kRows;
  for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
    const std::int64_t kc = std::min(kGemmBlockK, k - k0);
    pack<T, kLanes<T>>(b, 0, n, k0, kc, panel, packed_b);
    for (std::int64_t i = 0; i < whole; i += kRows)
      tile_of_runs<T>(reinterpret_cast<const T*>(a.data) + i * run + k0, run, packed_b, panel, kc, n,
                      {c.data + i * c.row, c.row, c.col}, k0 != 0);
    if (whole == m) continue;
    pack<T, kRows>(a, whole, m - whole, k0, kc, kRows, packed_a);
    tile<T>(packed_a, packed_b, panel, kc, m - whole, n, {c.data + whole * c.row, c.row, c.col}, k0 != 0);
  }
}

}  // namespace

bool gemm_has_wide() { return __builtin_cpu_supports("avx512f"); }

template <class T>
std::size_t gemm_wide_scratch(std::int64_t n) {
  constexpr std::int64_t kMost = kMostVectors * kLanes<T>;
  const std::int64_t cols = (std::min(kBlockN<T>, n) + kMost - 1) / kMost * kMost;
  return static_cast<std::size_t>((kBlockM + cols) * kGemmBlockK) * sizeof(T);
}

template <class T>
void gemm_wide(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
               GemmTarget<T> c, std::byte* scratch, const GemmBlocks& blocks) {
  const std::int64_t panel = std::min((n + kLanes<T> - 1) / kLanes<T>, kMostVectors) * kLanes<T>;
  if (n <= panel && a.ks.is_unit() && !a.lanes.table && gemm_detail::needs_no_conversion<T>(a))
    return product_of_runs(a, b, m, n, k, panel, c, scratch), blocks.done(0, m, 0, n);
  T* packed_a = reinterpret_cast<T*>(scratch);
  T* packed_b = packed_a + kBlockM * kGemmBlockK;
  for (std::int64_t n0 = 0; n0 < n; n0 += kBlockN<T>) {
    const std::int64_t nc = std::min(kBlockN<T>, n - n0);
    for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
      const std::int64_t kc = std::min(kGemmBlockK, k - k0);
      pack<T, kLanes<T>>(b, n0, nc, k0, kc, panel, packed_b);
      for (std::int64_t m0 = 0; m0 < m; m0 += kBlockM) {
        const std::int64_t mc = std::min(kBlockM, m - m0);
        pack<T, kRows>(a, m0, mc, k0, kc, kRows, packed_a);
        for (std::int64_t j = 0; j < nc; j += panel)
          for (std::int64_t i = 0; i < mc; i += kRows) {
            const GemmTarget<T> to{c.data + (m0 + i) * c.row + (n0 + j) * c.col, c.row, c.col};
            tile(packed_a + i * kc, packed_b + j * kc, panel, kc, std::min<std::int64_t>(kRows, mc - i),
                 std::min(panel, nc - j), to, k0 != 0);
          }
        if (k0 + kc == k) blocks.done(m0, mc, n0, nc);
      }
    }
  }
}

template void gemm_wide<float>(const GemmSource&, const GemmSource&, std::int64_t, std::int64_t, std::int64_t,
                               GemmTarget<float>, std::byte*, const GemmBlocks&);
template void gemm_wide<double>(const GemmSource&, const GemmSource&, std::int64_t, std::int64_t, std::int64_t,
                                GemmTarget<double>, std::byte*, const GemmBlocks&);
template std::size_t gemm_wide_scratch<float>(std::int64_t);
template std::size_t gemm_wide_scratch<double>(std::int64_t);

}  // namespace tfvm
