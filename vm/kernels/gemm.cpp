#include "vm/kernels/gemm.h"

#include <cmath>
#include <cstring>

#include "vm/kernels/gemm_pack.h"
#include "vm/kernels/gemm_tile.h"

namespace tfvm {

namespace {

using namespace gemm_detail;

constexpr std::int64_t kBlockM = 16 * kRows;  // rows of A packed at a time: 96 KiB of f32, within L2
constexpr std::int64_t kBlockN = 512;         // columns of B packed at a time

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

template <class T>
T chain(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fma(a, b, c);
  else
    return static_cast<T>(a * b + c);
}

// One element at a time; for products too small to pack.
template <class T>
void gemm_small(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                GemmTarget<T> c) {
  with_elements<T>(a, [&](auto* x) {
    const auto* y = reinterpret_cast<decltype(x)>(b.data);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T total{};
        for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
          T sum{};
          for (std::int64_t p = k0; p < std::min(k, k0 + kGemmBlockK); ++p)
            sum = chain(convert<T>(x[a.lanes[i] + a.ks[p]]), convert<T>(y[b.lanes[j] + b.ks[p]]), sum);
          total = k0 == 0 ? sum : static_cast<T>(total + sum);
        }
        c.data[i * c.row + j * c.col] = total;
      }
  });
}

bool is_small(std::int64_t m, std::int64_t n, std::int64_t k) { return m * n * k <= 512 || (m < 2 && n < 8); }

template <class T>
void gemm_packed(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k,
                 GemmTarget<T> c, std::byte* scratch) {
  T* packed_a = reinterpret_cast<T*>(scratch);
  T* packed_b = packed_a + kBlockM * kGemmBlockK;
  for (std::int64_t n0 = 0; n0 < n; n0 += kBlockN) {
    const std::int64_t nc = std::min(kBlockN, n - n0);
    for (std::int64_t k0 = 0; k0 < k; k0 += kGemmBlockK) {
      const std::int64_t kc = std::min(kGemmBlockK, k - k0);
      pack<T, kCols<T>>(b, n0, nc, k0, kc, packed_b);
      for (std::int64_t m0 = 0; m0 < m; m0 += kBlockM) {
        const std::int64_t mc = std::min(kBlockM, m - m0);
        pack<T, kRows>(a, m0, mc, k0, kc, packed_a);
        for (std::int64_t j = 0; j < nc; j += kCols<T>)
          for (std::int64_t i = 0; i < mc; i += kRows) {
            const GemmTarget<T> to{c.data + (m0 + i) * c.row + (n0 + j) * c.col, c.row, c.col};
            tile<T>(packed_a + i * kc, packed_b + j * kc, kc, std::min(kRows, mc - i), std::min(kCols<T>, nc - j), to,
                    k0 != 0);
          }
      }
    }
  }
}

}  // namespace

template <class T>
std::size_t gemm_scratch(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (is_small(m, n, k)) return 0;
  return static_cast<std::size_t>((kBlockM + round_up(std::min(kBlockN, std::max(n, m)), kCols<T>)) * kGemmBlockK) *
         sizeof(T);
}

template <class T>
void gemm(const GemmSource& a, const GemmSource& b, std::int64_t m, std::int64_t n, std::int64_t k, GemmTarget<T> c,
          std::byte* scratch) {
  if (k == 0) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c.data[i * c.row + j * c.col] = T{};
    return;
  }
  if (is_small(m, n, k)) return gemm_small(a, b, m, n, k, c);
  // Vectors run along n: where m is the longer side of a thin product, the transposed one is computed.
  if (n < kCols<T> && m > n) return gemm_packed<T>(b, a, n, m, k, {c.data, c.col, c.row}, scratch);
  gemm_packed(a, b, m, n, k, c, scratch);
}

#define TFVM_GEMM(T)                                                                                                   \
  template void gemm<T>(const GemmSource&, const GemmSource&, std::int64_t, std::int64_t, std::int64_t, GemmTarget<T>, \
                        std::byte*);                                                                                   \
  template std::size_t gemm_scratch<T>(std::int64_t, std::int64_t, std::int64_t);
TFVM_GEMM(float)
TFVM_GEMM(double)
TFVM_GEMM(std::uint32_t)
TFVM_GEMM(std::uint64_t)
#undef TFVM_GEMM

}  // namespace tfvm
