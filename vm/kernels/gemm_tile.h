#pragma once
// The register tile: Rows × (2 vectors of 32 bytes) of C over one block of k, from packed panels.

#include <algorithm>

#include <immintrin.h>

#include "vm/kernels/gemm.h"

namespace tfvm::gemm_detail {

template <class T>
struct Vec;

template <>
struct Vec<float> {
  using Type = __m256;
  static Type zero() { return _mm256_setzero_ps(); }
  static Type load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Type v) { _mm256_storeu_ps(p, v); }
  static Type all(float x) { return _mm256_set1_ps(x); }
  static Type madd(Type a, Type b, Type c) { return _mm256_fmadd_ps(a, b, c); }
};

template <>
struct Vec<double> {
  using Type = __m256d;
  static Type zero() { return _mm256_setzero_pd(); }
  static Type load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Type v) { _mm256_storeu_pd(p, v); }
  static Type all(double x) { return _mm256_set1_pd(x); }
  static Type madd(Type a, Type b, Type c) { return _mm256_fmadd_pd(a, b, c); }
};

// Integers wrap: unsigned vectors of the compiler.
template <class T>
struct IntVec {
  typedef T Type __attribute__((vector_size(32)));
  typedef T Loose __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  static Type zero() { return Type{}; }
  static Type load(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static void store(T* p, Type v) { *reinterpret_cast<Loose*>(p) = v; }
  static Type all(T x) { return Type{} + x; }
  static Type madd(Type a, Type b, Type c) { return a * b + c; }
};
template <>
struct Vec<std::uint32_t> : IntVec<std::uint32_t> {};
template <>
struct Vec<std::uint64_t> : IntVec<std::uint64_t> {};

template <class T>
inline constexpr std::int64_t kLanes = 32 / static_cast<std::int64_t>(sizeof(T));
template <class T>
inline constexpr std::int64_t kCols = 2 * kLanes<T>;
inline constexpr int kRows = 6;  // 12 accumulators, 2 of B, 1 of A: 15 of 16 registers

// Sums of a tile, rows of `width`, that c has no whole vectors for.
template <class T>
[[gnu::noinline]] void store_edge(const T* sums, std::int64_t width, std::int64_t rows, std::int64_t cols,
                                  const GemmTarget<T>& c, bool add) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < cols; ++j) {
      T& to = c.data[r * c.row + j * c.col];
      const T sum = sums[r * width + j];
      to = add ? to + sum : sum;
    }
}

// Columns side by side, from one k to the next `step` elements: of a packed panel kCols.
template <class T>
struct Panel {
  const T* data;
  std::int64_t step = kCols<T>;
};

// a: kc × kRows, packed; the first Rows of them count. With `add` the block's sums are added to what is in c. Rows of a
// that are not packed are runs along k, `run` elements behind each other.
template <class T, int Rows, bool IsPacked = true>
void tile_of(const T* a, std::int64_t run, Panel<T> panel, std::int64_t kc, std::int64_t rows, std::int64_t cols,
             GemmTarget<T> c, bool add) {
  using V = Vec<T>;
  constexpr std::int64_t L = kLanes<T>;
  typename V::Type acc[Rows][2];
  for (auto& row : acc) row[0] = row[1] = V::zero();
  for (std::int64_t r = 0; r < rows && c.col == 1; ++r) {  // there when the sums are
    __builtin_prefetch(c.data + r * c.row, 1);
    __builtin_prefetch(c.data + r * c.row + kCols<T> - 1, 1);
  }
  const T* b = panel.data;
  for (std::int64_t k = 0; k < kc; ++k, a += IsPacked ? kRows : 1, b += panel.step) {
    const auto b0 = V::load(b), b1 = V::load(b + L);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      const auto x = V::all(a[IsPacked ? r : r * run]);
      acc[r][0] = V::madd(x, b0, acc[r][0]);
      acc[r][1] = V::madd(x, b1, acc[r][1]);
    }
  }
  if (rows == Rows && cols == kCols<T> && c.col == 1) {
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      T* to = c.data + r * c.row;
      V::store(to, add ? V::load(to) + acc[r][0] : acc[r][0]);
      V::store(to + L, add ? V::load(to + L) + acc[r][1] : acc[r][1]);
    }
    return;
  }
  alignas(32) T edge[Rows][kCols<T>];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    V::store(edge[r], acc[r][0]);
    V::store(edge[r] + L, acc[r][1]);
  }
  store_edge(edge[0], kCols<T>, rows, cols, c, add);
}

template <class T>
void tile(const T* a, Panel<T> b, std::int64_t kc, std::int64_t rows, std::int64_t cols, GemmTarget<T> c, bool add) {
  if (rows > 4) return tile_of<T, 6>(a, 0, b, kc, rows, cols, c, add);
  if (rows > 2) return tile_of<T, 4>(a, 0, b, kc, rows, cols, c, add);
  if (rows > 1) return tile_of<T, 2>(a, 0, b, kc, rows, cols, c, add);
  return tile_of<T, 1>(a, 0, b, kc, rows, cols, c, add);
}

}  // namespace tfvm::gemm_detail
