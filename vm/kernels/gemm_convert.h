#pragma once
// Elements of another type than is computed with are converted run by run, by one function for each pair of types.

#include "jit/math/convert.h"
#include "vm/kernels/gemm.h"

namespace tfvm::gemm_detail {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

template <class T, class S>
T convert(S v) {
  if constexpr (std::is_same_v<S, F16>)
    return static_cast<T>(math::f16_to_f32(v.bits));
  else if constexpr (std::is_same_v<S, BF16>)
    return static_cast<T>(math::bf16_to_f32(v.bits));
  else
    return static_cast<T>(v);
}

// Whether the elements are already of the type that is computed with.
template <class T>
bool needs_no_conversion(const GemmSource& s) {
  return size_of(s.dtype) == static_cast<std::int64_t>(sizeof(T));
}

// out[i] = the element at axis.at(i).
template <class T>
using Converter = void (*)(const std::byte* data, GemmAxis axis, std::int64_t n, T* out);

template <class T, class S>
void convert_run(const std::byte* data, GemmAxis axis, std::int64_t n, T* out) {
  const auto* from = reinterpret_cast<const S*>(data);
  if (axis.is_unit())
    for (std::int64_t i = 0; i < n; ++i) out[i] = convert<T>(from[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) out[i] = convert<T>(from[axis.at(i)]);
}

template <class T>
Converter<T> converter(DType from) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (from) {
      case DType::F16:
        return convert_run<T, F16>;
      case DType::BF16:
        return convert_run<T, BF16>;
      case DType::F32:
        return convert_run<T, float>;
      default:
        return convert_run<T, double>;
    }
  } else {
    switch (from) {
      case DType::I8:
        return convert_run<T, std::int8_t>;
      case DType::U8:
        return convert_run<T, std::uint8_t>;
      case DType::I16:
        return convert_run<T, std::int16_t>;
      case DType::U16:
        return convert_run<T, std::uint16_t>;
      case DType::I32:
        return convert_run<T, std::int32_t>;
      case DType::U32:
        return convert_run<T, std::uint32_t>;
      default:
        return convert_run<T, std::uint64_t>;
    }
  }
}

// Element (lane, k) of s, and the axis of the k from there on.
struct Place {
  const std::byte* data;
  GemmAxis ks;
};
inline Place place_of(const GemmSource& s, std::int64_t lane, std::int64_t k) {
  const std::int64_t at = s.lanes.at(lane) + (s.ks.table ? 0 : k * s.ks.stride);
  return {s.data + at * size_of(s.dtype), s.ks.from(k)};
}

}  // namespace tfvm::gemm_detail
