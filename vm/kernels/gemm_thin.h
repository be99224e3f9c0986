#pragma once
// Products that are not worth packing: few elements, an inner product, a vector by rows of a matrix.

#include <cmath>

#include "vm/kernels/gemm_pack.h"
#include "vm/kernels/gemm_tile.h"

namespace tfvm::gemm_detail {

template <class T>
T chain(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fma(a, b, c);
  else
    return static_cast<T>(a * b + c);
}

// Element (i, j .. j + N - 1), N chains at a time.
template <class T, int N>
void small_run(const T* x, const T* y, const GemmSource& a, const GemmSource& b, std::int64_t k, T* totals) {
  for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
    T sums[N] = {};
    const std::int64_t end = std::min(k, k0 + kGemmBlockK);
    for (std::int64_t p = k0; p < end; ++p) {
      const T u = x[a.ks.at(p)];
      const T* row = y + b.ks.at(p);
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) sums[j] = chain(u, row[b.lanes.at(j)], sums[j]);
    }
    for (int j = 0; j < N; ++j) totals[j] = k0 == 0 ? sums[j] : static_cast<T>(totals[j] + sums[j]);
  }
}

// One element of long k: the chains of eight blocks side by side. Its elements from a multiple of kInnerRun on are
// added to the `total` of those before.
inline constexpr std::int64_t kInnerRun = 8 * kGemmBlockK;
template <class T>
[[gnu::noinline]] T inner(const T* x, const T* y, GemmAxis xs, GemmAxis ys, std::int64_t k, bool first = true,
                          T total = {}) {
  constexpr int kSide = kInnerRun / kGemmBlockK;
  const auto add = [&](T sum) {
    total = first ? sum : static_cast<T>(total + sum);
    first = false;
  };
  std::int64_t k0 = 0;
  for (; k0 + kInnerRun <= k; k0 += kInnerRun) {
    T sums[kSide] = {};
    for (std::int64_t p = k0; p < k0 + kGemmBlockK; ++p)
#pragma GCC unroll 8
      for (int q = 0; q < kSide; ++q) {
        const std::int64_t at = p + q * kGemmBlockK;
        sums[q] = chain(x[xs.at(at)], y[ys.at(at)], sums[q]);
      }
    for (int q = 0; q < kSide; ++q) add(sums[q]);
  }
  for (; k0 < k; k0 += kGemmBlockK) {
    T sum{};
    for (std::int64_t p = k0; p < std::min(k, k0 + kGemmBlockK); ++p) sum = chain(x[xs.at(p)], y[ys.at(p)], sum);
    add(sum);
  }
  return total;
}

template <class T>
void gemm_small(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                GemmTarget<T> c) {
  const auto* x = reinterpret_cast<const T*>(a.data);
  const auto* y = reinterpret_cast<const T*>(b.data);
  if (m == 1 && n == 1) {
    *c.data = inner(x + a.lanes.at(0), y + b.lanes.at(0), a.ks, b.ks, k);
    return;
  }
  for (std::int64_t i = 0; i < m; ++i) {
    T* to = c.data + i * c.row;
    const T* row = x + a.lanes.at(i);
    const auto run = [&]<int N>(std::int64_t j) {
      T totals[N] = {};
      GemmSource rest = b;
      rest.lanes = b.lanes.from(j);
      small_run<T, N>(row, b.lanes.table ? y : y + j * b.lanes.stride, a, rest, k, totals);
      for (int q = 0; q < N; ++q) to[(j + q) * c.col] = totals[q];
    };
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) run.template operator()<4>(j);
    for (; j < n; ++j) run.template operator()<1>(j);
  }
}

// Vectors of the result stay in registers along a block of k; rows of b are read where they stand.
template <class T, int Vectors>
void row_tile(const T* x, GemmAxis xs, const T* y, GemmAxis ys, std::int64_t k, T* c) {
  using V = Vec<T>;
  constexpr std::int64_t L = kLanes<T>;
  for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
    typename V::Type acc[Vectors];
    for (auto& v : acc) v = V::zero();
    const std::int64_t end = std::min(k, k0 + kGemmBlockK);
    for (std::int64_t p = k0; p < end; ++p) {
      const auto u = V::all(x[xs.at(p)]);
      const T* row = y + ys.at(p);
#pragma GCC unroll 8
      for (int q = 0; q < Vectors; ++q) acc[q] = V::madd(u, V::load(row + q * L), acc[q]);
    }
#pragma GCC unroll 8
    for (int q = 0; q < Vectors; ++q) V::store(c + q * L, k0 == 0 ? acc[q] : V::load(c + q * L) + acc[q]);
  }
}

// c[n] = x[k] b[k, n] where lanes of b stand side by side and elements need no conversion.
template <class T>
void row_times(const T* x, GemmAxis xs, const T* y, GemmAxis ys, std::int64_t n, std::int64_t k, T* c) {
  constexpr std::int64_t L = kLanes<T>;
  std::int64_t j = 0;
  for (; j + 8 * L <= n; j += 8 * L) row_tile<T, 8>(x, xs, y + j, ys, k, c + j);
  for (; j + L <= n; j += L) row_tile<T, 1>(x, xs, y + j, ys, k, c + j);
  for (; j < n; ++j) c[j] = inner(x, y + j, xs, ys, k);
}

}  // namespace tfvm::gemm_detail
