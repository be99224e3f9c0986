#pragma once
// Products that are not worth packing, of elements that are converted first.

#include "vm/kernels/gemm_convert.h"
#include "vm/kernels/gemm_thin.h"

namespace tfvm::gemm_detail {

// Few elements of another type, at most kFew on each side: they are converted first.
inline constexpr std::int64_t kFew = 512;
template <class T>
void gemm_few_converted(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                        GemmTarget<T> c) {
  T elements[2][kFew];
  const auto all = [k](const GemmSource& s, std::int64_t lanes, T* to) {
    const Converter<T> run = converter<T>(s.dtype);
    for (std::int64_t l = 0; l < lanes; ++l) run(place_of(s, l, 0).data, s.ks, k, to + l * k);
    return GemmSource{reinterpret_cast<const std::byte*>(to), s.dtype, {k}, {1}};
  };
  const GemmSource x = all(a, m, elements[0]);
  gemm_small(x, all(b, n, elements[1]), m, n, k, c);
}

// A row of few elements of long k, of another type.
template <class T>
void gemm_row_converted(const GemmSource& a, const GemmSource& b, std::int64_t n, std::int64_t k, GemmTarget<T> c) {
  T x[kInnerRun], y[kInnerRun];
  const Converter<T> run_a = converter<T>(a.dtype), run_b = converter<T>(b.dtype);
  for (std::int64_t k0 = 0; k0 < k; k0 += kInnerRun) {
    const std::int64_t kc = std::min(kInnerRun, k - k0);
    const Place from_a = place_of(a, 0, k0);
    run_a(from_a.data, from_a.ks, kc, x);
    for (std::int64_t j = 0; j < n; ++j) {
      const Place from_b = place_of(b, j, k0);
      run_b(from_b.data, from_b.ks, kc, y);
      T& to = c.data[j * c.col];
      to = inner(x, y, {1}, {1}, kc, k0 == 0, k0 == 0 ? T{} : to);
    }
  }
}

}  // namespace tfvm::gemm_detail
