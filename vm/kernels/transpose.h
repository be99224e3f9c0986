#pragma once
// Transposes of small squares in registers.

#include <cstdint>

#include <immintrin.h>

namespace tfvm::gemm_detail {

// out[i * step + r] = rows[r][at + i], 8 × 8.
inline void transpose_8x8(const float* const* rows, std::int64_t at, float* out, std::int64_t step) {
  __m256 v[8], pairs[8];
  for (int r = 0; r < 4; ++r) {  // rows r and r + 4 share a register, so that no shuffle crosses its halves
    const auto low = [&](std::int64_t k) { return _mm256_castps128_ps256(_mm_loadu_ps(rows[r] + at + k)); };
    v[r] = _mm256_insertf128_ps(low(0), _mm_loadu_ps(rows[r + 4] + at), 1);
    v[r + 4] = _mm256_insertf128_ps(low(4), _mm_loadu_ps(rows[r + 4] + at + 4), 1);
  }
  for (int h = 0; h < 8; h += 4) {
    pairs[h] = _mm256_unpacklo_ps(v[h], v[h + 1]);
    pairs[h + 1] = _mm256_unpackhi_ps(v[h], v[h + 1]);
    pairs[h + 2] = _mm256_unpacklo_ps(v[h + 2], v[h + 3]);
    pairs[h + 3] = _mm256_unpackhi_ps(v[h + 2], v[h + 3]);
  }
  for (int h = 0; h < 8; h += 4) {
    float* to = out + h * step;
    _mm256_storeu_ps(to, _mm256_shuffle_ps(pairs[h], pairs[h + 2], 0x44));
    _mm256_storeu_ps(to + step, _mm256_shuffle_ps(pairs[h], pairs[h + 2], 0xee));
    _mm256_storeu_ps(to + 2 * step, _mm256_shuffle_ps(pairs[h + 1], pairs[h + 3], 0x44));
    _mm256_storeu_ps(to + 3 * step, _mm256_shuffle_ps(pairs[h + 1], pairs[h + 3], 0xee));
  }
}

// The same, 4 × 4.
inline void transpose_4x4(const double* const* rows, std::int64_t at, double* out, std::int64_t step) {
  const auto both = [&](int r, std::int64_t k) {  // rows r and r + 2
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(rows[r] + at + k)),
                                _mm_loadu_pd(rows[r + 2] + at + k), 1);
  };
  const __m256d a = both(0, 0), b = both(1, 0), c = both(0, 2), d = both(1, 2);
  _mm256_storeu_pd(out, _mm256_unpacklo_pd(a, b));
  _mm256_storeu_pd(out + step, _mm256_unpackhi_pd(a, b));
  _mm256_storeu_pd(out + 2 * step, _mm256_unpacklo_pd(c, d));
  _mm256_storeu_pd(out + 3 * step, _mm256_unpackhi_pd(c, d));
}

}  // namespace tfvm::gemm_detail
