#pragma once
// What stands before and behind a product: places of its operands' elements, and the rounding of sums.

#include <cstring>
#include <optional>

#include "jit/math/convert.h"
#include "vm/kernels/gemm.h"

namespace tfvm {

// The stride that the combinations of `rank` axes in row-major order have in common.
inline std::optional<std::int64_t> common_stride(std::size_t rank, const std::int64_t* extents,
                                                 const std::int64_t* strides) {
  std::int64_t stride = 0, run = 0;  // of the axes behind: their stride, and that times their extents
  bool first = true;
  for (std::size_t k = rank; k-- > 0;) {
    if (extents[k] == 1) continue;
    if (first)
      stride = strides[k];
    else if (strides[k] != run)
      return std::nullopt;
    run = strides[k] * extents[k];
    first = false;
  }
  return stride;
}

// Places of all combinations of the axes in row-major order; a table goes into `space`, which has an entry for each.
inline GemmAxis gemm_places(std::size_t rank, const std::int64_t* extents, const std::int64_t* strides,
                            std::int64_t* space) {
  if (const auto stride = common_stride(rank, extents, strides)) return {*stride, nullptr};
  space[0] = 0;
  std::int64_t n = 1;
  for (std::size_t a = 0; a < rank; ++a) {
    // Each entry becomes `extent` entries; from the back, so that none is overwritten before it is read.
    for (std::int64_t i = n; i-- > 0;)
      for (std::int64_t j = extents[a]; j-- > 0;) space[i * extents[a] + j] = space[i] + j * strides[a];
    n *= extents[a];
  }
  return {0, space};
}

// Rounds a run of sums to the result's dtype.
template <class T>
void round_to(DType dtype, const T* sums, std::int64_t n, std::byte* out) {
  const auto each = [&](auto* to, auto f) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(sums[i]);
  };
  switch (size_of(dtype)) {
    case 1:
      return each(reinterpret_cast<std::uint8_t*>(out), [](T s) { return static_cast<std::uint8_t>(s); });
    case 2:
      if constexpr (std::is_same_v<T, float>) {
        if (dtype == DType::F16) return each(reinterpret_cast<std::uint16_t*>(out), math::f32_to_f16);
        return each(reinterpret_cast<std::uint16_t*>(out), math::f32_to_bf16);
      } else if constexpr (std::is_same_v<T, double>) {
        if (dtype == DType::F16) return each(reinterpret_cast<std::uint16_t*>(out), math::f64_to_f16);
        return each(reinterpret_cast<std::uint16_t*>(out), math::f64_to_bf16);
      } else {
        return each(reinterpret_cast<std::uint16_t*>(out), [](T s) { return static_cast<std::uint16_t>(s); });
      }
    case 4:
      if constexpr (std::is_floating_point_v<T>)
        return each(reinterpret_cast<float*>(out), [](T s) { return static_cast<float>(s); });
      else
        return each(reinterpret_cast<std::uint32_t*>(out), [](T s) { return static_cast<std::uint32_t>(s); });
    default:
      std::memcpy(out, sums, static_cast<std::size_t>(n) * sizeof(T));
  }
}

}  // namespace tfvm
