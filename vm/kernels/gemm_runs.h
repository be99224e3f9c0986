#pragma once
// A matrix whose rows stand in runs along k, by a vector: squares of it are transposed in registers, so that lanes are
// rows and each keeps its own chain of sums.

#include "vm/kernels/gemm_thin.h"

namespace tfvm::gemm_detail {

[[gnu::noinline]] inline void transpose_square(const float* const* rows, std::int64_t at, float* out) {
  transpose_8x8(rows, at, out, 8);
}
[[gnu::noinline]] inline void transpose_square(const double* const* rows, std::int64_t at, double* out) {
  transpose_4x4(rows, at, out, 4);
}

// The first n < 8 (4) elements of a run, and zeros.
inline void copy_few(const float* from, std::int64_t n, float* to) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_store_ps(to, _mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes)));
}
inline void copy_few(const double* from, std::int64_t n, double* to) {
  const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
  _mm256_store_pd(to, _mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lanes)));
}

// Four (two) steps of the chains of eight (four) rows, whose columns from `at` on are transposed on the way. Rows r and
// r + 4 (2) share a register, so that no shuffle crosses its halves.
inline __m256 madd_columns(const float* const* rows, std::int64_t at, const float* x, __m256 sums) {
  __m256 v[4];
  for (int r = 0; r < 4; ++r)
    v[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[r] + at)), _mm_loadu_ps(rows[r + 4] + at), 1);
  const __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
  const __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
  sums = _mm256_fmadd_ps(_mm256_set1_ps(x[0]), _mm256_shuffle_ps(a, c, 0x44), sums);
  sums = _mm256_fmadd_ps(_mm256_set1_ps(x[1]), _mm256_shuffle_ps(a, c, 0xee), sums);
  sums = _mm256_fmadd_ps(_mm256_set1_ps(x[2]), _mm256_shuffle_ps(b, d, 0x44), sums);
  return _mm256_fmadd_ps(_mm256_set1_ps(x[3]), _mm256_shuffle_ps(b, d, 0xee), sums);
}
inline __m256d madd_columns(const double* const* rows, std::int64_t at, const double* x, __m256d sums) {
  const auto both = [&](int r) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(rows[r] + at)), _mm_loadu_pd(rows[r + 2] + at), 1);
  };
  const __m256d a = both(0), b = both(1);
  sums = _mm256_fmadd_pd(_mm256_set1_pd(x[0]), _mm256_unpacklo_pd(a, b), sums);
  return _mm256_fmadd_pd(_mm256_set1_pd(x[1]), _mm256_unpackhi_pd(a, b), sums);
}

// How far the second vector of rows is behind the first: where rows are a power of two apart, their lines have the same
// places in the cache, which has room for one vector's.
template <class T>
inline constexpr std::int64_t kLag = 64 / static_cast<std::int64_t>(sizeof(T));

// totals[i] for Groups vectors of rows that each stand in a run along k: squares of them are transposed, so that lanes
// are rows.
template <class T, int Groups>
void run_tile(const T* const* runs, const T* x, GemmAxis xs, std::int64_t k, T* totals) {
  using V = Vec<T>;
  constexpr std::int64_t L = kLanes<T>;
  T others[kGemmBlockK];
  for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
    typename V::Type acc[Groups];
    for (auto& v : acc) v = V::zero();
    const std::int64_t end = std::min(k, k0 + kGemmBlockK);
    const T* factors = x + k0;  // those of this block
    if (!xs.is_unit()) {
      for (std::int64_t p = k0; p < end; ++p) others[p - k0] = x[xs.at(p)];
      factors = others;
    }
    std::int64_t p = k0;
    const std::int64_t whole = (end - k0) / L * L, lag = std::min(whole, kLag<T>);
    const auto steps = [&]<int First, int End>(std::int64_t from, std::int64_t to) {
      for (std::int64_t at = from; at < to; at += L / 2)
        for (int g = First; g < End; ++g)
          acc[g] = madd_columns(runs + g * L, k0 + at - g * lag, factors + at - g * lag, acc[g]);
    };
    steps.template operator()<0, 1>(0, lag);
    steps.template operator()<0, Groups>(lag, whole);
    if constexpr (Groups == 2) steps.template operator()<1, 2>(whole, whole + lag);
    p += whole;
    for (int g = 0; p < end && g < Groups; ++g) {  // what is left of the runs, with anything behind it
      alignas(32) T left[L][L], square[L * L];
      const T* rows[L];
      for (std::int64_t l = 0; l < L; ++l) {
        copy_few(runs[g * L + l] + p, end - p, left[l]);
        rows[l] = left[l];
      }
      transpose_square(rows, 0, square);
      for (std::int64_t q = 0; q < end - p; ++q)
        acc[g] = V::madd(V::all(factors[p - k0 + q]), V::load(square + q * L), acc[g]);
    }
    for (int g = 0; g < Groups; ++g) {
      T* to = totals + g * L;
      V::store(to, k0 == 0 ? acc[g] : V::load(to) + acc[g]);
    }
  }
}

// c[m] = a[m, k] x[k] where rows of a stand in runs along k and elements need no conversion.
template <class T>
void runs_times(const T* y, GemmAxis lanes, const T* x, GemmAxis xs, std::int64_t m, std::int64_t k, T* c,
                std::int64_t step) {
  constexpr int kGroups = 2;
  constexpr std::int64_t kMost = kGroups * kLanes<T>;
  const auto some = [&]<int Groups>(std::int64_t i) {
    const T* runs[Groups * kLanes<T>];
    T totals[Groups * kLanes<T>];
    for (std::int64_t l = 0; l < Groups * kLanes<T>; ++l) runs[l] = y + lanes.at(i + l);
    run_tile<T, Groups>(runs, x, xs, k, totals);
    for (std::int64_t l = 0; l < Groups * kLanes<T>; ++l) c[(i + l) * step] = totals[l];
  };
  std::int64_t i = 0;
  for (; i + kMost <= m; i += kMost) some.template operator()<kGroups>(i);
  for (; i + kLanes<T> <= m; i += kLanes<T>) some.template operator()<1>(i);
  for (; i < m; ++i) c[i * step] = inner(y + lanes.at(i), x, {1, nullptr}, xs, k);
}

}  // namespace tfvm::gemm_detail
