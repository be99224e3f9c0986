#pragma once
// Nan by dtype: finding them, and marks in their payloads.

#include <cstdint>
#include <cstring>

#include "vm/tensor.h"

namespace tfvm {

// A float of `bits` bits with `mantissa` bits of mantissa, of which the first says that a nan is quiet; a mark stands
// behind it with its lowest bit first, so that conversions between formats keep small ones.
template <class T, int kMantissa>
struct NanFormat {
  using Bits = T;
  static constexpr int kMarkBits = kMantissa - 1 < 22 ? kMantissa - 1 : 22;
  static constexpr T kInf = static_cast<T>(((T{1} << (8 * sizeof(T) - 1 - kMantissa)) - 1) << kMantissa);
  static bool is_nan(T x) { return static_cast<T>(x & static_cast<T>(~(T{1} << (8 * sizeof(T) - 1)))) > kInf; }
  static std::uint32_t mark(T x) {
    std::uint32_t m = 0;
    for (int k = 0; k < kMarkBits; ++k) m |= static_cast<std::uint32_t>(x >> (kMantissa - 2 - k) & 1) << k;
    return m;
  }
  static T with_mark(T x, std::uint32_t m) {
    for (int k = 0; k < kMarkBits; ++k) {
      const T bit = static_cast<T>(T{1} << (kMantissa - 2 - k));
      x = static_cast<T>((x & static_cast<T>(~bit)) | ((m >> k & 1) != 0 ? bit : T{0}));
    }
    return x;
  }
};

// Calls fn(format, parts): the format of the real numbers that elements of this dtype consist of; false where there is
// no nan in it.
template <class Fn>
bool with_nan_format(DType d, Fn fn) {
  switch (d) {
    case DType::F16:
      return fn(NanFormat<std::uint16_t, 10>(), 1), true;
    case DType::BF16:
      return fn(NanFormat<std::uint16_t, 7>(), 1), true;
    case DType::F32:
      return fn(NanFormat<std::uint32_t, 23>(), 1), true;
    case DType::F64:
      return fn(NanFormat<std::uint64_t, 52>(), 1), true;
    case DType::C64:
      return fn(NanFormat<std::uint32_t, 23>(), 2), true;
    case DType::C128:
      return fn(NanFormat<std::uint64_t, 52>(), 2), true;
    default:
      return false;
  }
}

template <class T>
T load_bits(const std::byte* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// Calls fn(element, pointer) in row-major order until it gives false.
template <class Fn>
void for_elements(const Tensor& t, Fn fn) {
  const Layout& l = t.layout();
  const std::int64_t n = t.elements(), size = size_of(t.dtype());
  std::vector<std::int64_t> index(l.dims.size(), 0);
  std::int64_t at = l.offset;
  for (std::int64_t k = 0; k < n; ++k) {
    if (!fn(k, t.base() + at * size)) return;
    for (std::size_t d = index.size(); d-- > 0;) {
      at += l.strides[d];
      if (++index[d] < l.dims[d]) break;
      at -= l.dims[d] * l.strides[d];
      index[d] = 0;
    }
  }
}

}  // namespace tfvm
