// The register operations of the native builder that plain vector arithmetic doesn't give, overloaded by type.
// A "one-lane" builder works in a 128-bit register whose lane 0 counts.
#pragma once

#include <cstdint>

#include <immintrin.h>

namespace tfvm::math {

/// The vector types for N lanes of T: F floats, I signed and U unsigned integers of the same width.
template <class T, int N>
struct Register;

template <>
struct Register<float, 8> {
  using F = __m256;
  typedef std::int32_t I __attribute__((vector_size(32)));
  typedef std::uint32_t U __attribute__((vector_size(32)));
};
template <>
struct Register<float, 1> {
  using F = __m128;
  typedef std::int32_t I __attribute__((vector_size(16)));
  typedef std::uint32_t U __attribute__((vector_size(16)));
};
template <>
struct Register<double, 4> {
  using F = __m256d;
  typedef std::int64_t I __attribute__((vector_size(32)));
  typedef std::uint64_t U __attribute__((vector_size(32)));
};
template <>
struct Register<double, 1> {
  using F = __m128d;
  typedef std::int64_t I __attribute__((vector_size(16)));
  typedef std::uint64_t U __attribute__((vector_size(16)));
};

namespace reg {

inline __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
inline __m128 fma(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
inline __m256d fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
inline __m128d fma(__m128d a, __m128d b, __m128d c) { return _mm_fmadd_pd(a, b, c); }

inline __m256 sqrt(__m256 x) { return _mm256_sqrt_ps(x); }
inline __m128 sqrt(__m128 x) { return _mm_sqrt_ps(x); }
inline __m256d sqrt(__m256d x) { return _mm256_sqrt_pd(x); }
inline __m128d sqrt(__m128d x) { return _mm_sqrt_pd(x); }

/// Rounds to an integer; Mode is one of _MM_FROUND_TO_* | _MM_FROUND_NO_EXC.
template <int Mode>
inline __m256 round(__m256 x) {
  return _mm256_round_ps(x, Mode);
}
template <int Mode>
inline __m128 round(__m128 x) {
  return _mm_round_ps(x, Mode);
}
template <int Mode>
inline __m256d round(__m256d x) {
  return _mm256_round_pd(x, Mode);
}
template <int Mode>
inline __m128d round(__m128d x) {
  return _mm_round_pd(x, Mode);
}

/// One bit per lane: its sign bit.
inline int signs(__m256 x) { return _mm256_movemask_ps(x); }
inline int signs(__m128 x) { return _mm_movemask_ps(x); }
inline int signs(__m256d x) { return _mm256_movemask_pd(x); }
inline int signs(__m128d x) { return _mm_movemask_pd(x); }

inline void load(const float* p, __m256& x) { x = _mm256_loadu_ps(p); }
inline void load(const float* p, __m128& x) { x = _mm_load_ss(p); }
inline void load(const double* p, __m256d& x) { x = _mm256_loadu_pd(p); }
inline void load(const double* p, __m128d& x) { x = _mm_load_sd(p); }

inline void store(float* p, __m256 x) { _mm256_storeu_ps(p, x); }
inline void store(float* p, __m128 x) { _mm_store_ss(p, x); }
inline void store(double* p, __m256d x) { _mm256_storeu_pd(p, x); }
inline void store(double* p, __m128d x) { _mm_store_sd(p, x); }

}  // namespace reg
}  // namespace tfvm::math
