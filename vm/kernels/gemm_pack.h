#pragma once
// Packing: lanes × k, gathered through offsets and converted, as panels of `width` lanes: out[k * width + lane],
// missing lanes zero.

#include <bit>
#include <cstring>

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

inline bool consecutive(const std::int64_t* offsets, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i)
    if (offsets[i] != offsets[0] + i) return false;
  return true;
}

template <class T, class S, std::int64_t Width>
void pack_panel(const S* data, const std::int64_t* lanes, std::int64_t valid, const std::int64_t* ks, std::int64_t kc,
                T* out) {
  if (valid < Width) std::memset(out, 0, static_cast<std::size_t>(kc * Width) * sizeof(T));
  if (valid == Width && consecutive(lanes, valid)) {  // lanes stand side by side
    for (std::int64_t k = 0; k < kc; ++k) {
      const S* from = data + lanes[0] + ks[k];
      for (std::int64_t l = 0; l < Width; ++l) out[k * Width + l] = convert<T>(from[l]);
    }
    return;
  }
  for (std::int64_t l = 0; l < valid; ++l) {
    const S* from = data + lanes[l];
    for (std::int64_t k = 0; k < kc; ++k) out[k * Width + l] = convert<T>(from[ks[k]]);
  }
}

// Calls f(const S*) for the C++ type of the source's elements.
template <class T, class F>
void with_elements(const GemmSource& s, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (s.dtype) {
      case DType::F16:
        return f(reinterpret_cast<const F16*>(s.data));
      case DType::BF16:
        return f(reinterpret_cast<const BF16*>(s.data));
      case DType::F32:
        return f(reinterpret_cast<const float*>(s.data));
      default:
        return f(reinterpret_cast<const double*>(s.data));
    }
  } else {
    switch (s.dtype) {
      case DType::I8:
        return f(reinterpret_cast<const std::int8_t*>(s.data));
      case DType::U8:
        return f(reinterpret_cast<const std::uint8_t*>(s.data));
      case DType::I16:
        return f(reinterpret_cast<const std::int16_t*>(s.data));
      case DType::U16:
        return f(reinterpret_cast<const std::uint16_t*>(s.data));
      case DType::I32:
        return f(reinterpret_cast<const std::int32_t*>(s.data));
      case DType::U32:
        return f(reinterpret_cast<const std::uint32_t*>(s.data));
      case DType::I64:
        return f(reinterpret_cast<const std::int64_t*>(s.data));
      default:
        return f(reinterpret_cast<const std::uint64_t*>(s.data));
    }
  }
}

template <class T, std::int64_t Width>
void pack(const GemmSource& s, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t kc, T* out) {
  with_elements<T>(s, [&](auto* data) {
    for (std::int64_t l = 0; l < count; l += Width, out += kc * Width)
      pack_panel<T, std::remove_const_t<std::remove_pointer_t<decltype(data)>>, Width>(
          data, s.lanes + first + l, std::min(Width, count - l), s.ks + k0, kc, out);
  });
}

}  // namespace tfvm::gemm_detail
