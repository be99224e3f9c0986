#pragma once
// Packing: lanes × k, gathered and converted, as panels of `width` lanes: out[k * width + lane],
// missing lanes zero.

#include <bit>
#include <cstring>

#include "jit/math/convert.h"
#include "vm/kernels/gemm.h"
#include "vm/kernels/transpose.h"

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

// out[k * Width + lane] of Width lanes that each stand in a run along k, eight (four of double) k at a time.
template <std::int64_t Width>
std::int64_t transpose_runs(const float* const* runs, std::int64_t kc, float* out) {
  std::int64_t k = 0;
  for (; k + 8 <= kc; k += 8)
    for (std::int64_t l = 0; l < Width; l += 8) transpose_8x8(runs + l, k, out + k * Width + l, Width);
  return k;
}
template <std::int64_t Width>
std::int64_t transpose_runs(const double* const* runs, std::int64_t kc, double* out) {
  std::int64_t k = 0;
  for (; k + 4 <= kc; k += 4)
    for (std::int64_t l = 0; l < Width; l += 4) transpose_4x4(runs + l, k, out + k * Width + l, Width);
  return k;
}

// `valid` of Width lanes from the places of `lanes`; `ks` starts at the panel's first k.
template <class T, class S, std::int64_t Width>
void pack_panel(const S* data, GemmAxis lanes, std::int64_t valid, GemmAxis ks, std::int64_t kc, T* out) {
  if (valid < Width) std::memset(out, 0, static_cast<std::size_t>(kc * Width) * sizeof(T));
  if (valid == Width && lanes.is_unit()) {  // lanes stand side by side
    for (std::int64_t k = 0; k < kc; ++k) {
      const S* from = data + ks.at(k);
      for (std::int64_t l = 0; l < Width; ++l) out[k * Width + l] = convert<T>(from[l]);
    }
    return;
  }
  std::int64_t done = 0;
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, S> && Width % 8 == 0) {
    if (valid == Width && ks.is_unit()) {
      const T* runs[Width];
      for (std::int64_t l = 0; l < Width; ++l) runs[l] = data + lanes.at(l);
      done = transpose_runs<Width>(runs, kc, out);
    }
  }
  for (std::int64_t l = 0; l < valid; ++l) {
    const S* from = data + lanes.at(l);
    if (ks.is_unit()) {
      for (std::int64_t k = done; k < kc; ++k) out[k * Width + l] = convert<T>(from[k]);
    } else {
      for (std::int64_t k = done; k < kc; ++k) out[k * Width + l] = convert<T>(from[ks.at(k)]);
    }
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
    using S = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    if (!s.ks.table) data += k0 * s.ks.stride;
    for (std::int64_t l = 0; l < count; l += Width, out += kc * Width)
      pack_panel<T, S, Width>(s.lanes.table ? data : data + (first + l) * s.lanes.stride, s.lanes.from(first + l),
                              std::min(Width, count - l), s.ks.from(k0), kc, out);
  });
}

}  // namespace tfvm::gemm_detail
