#pragma once
// Packing: lanes × k, gathered and converted, as panels of `width` lanes: out[k * width + lane], missing lanes zero.

#include <algorithm>
#include <cstring>

#include "vm/kernels/gemm_convert.h"
#include "vm/kernels/transpose.h"

namespace tfvm::gemm_detail {

// pack for elements that are converted.
template <class T>
[[gnu::noinline]] void pack_converted(const GemmSource& s, std::int64_t first, std::int64_t count, std::int64_t k0,
                                      std::int64_t kc, std::int64_t width, T* out) {
  const Converter<T> run = converter<T>(s.dtype);
  for (std::int64_t l = 0; l < count; l += width, out += kc * width) {
    const std::int64_t valid = std::min(width, count - l);
    if (valid < width) std::memset(out, 0, static_cast<std::size_t>(kc * width) * sizeof(T));
    if (s.lanes.is_unit()) {  // lanes stand side by side
      for (std::int64_t k = 0; k < kc; ++k) {
        const std::int64_t at = s.lanes.at(first + l) + s.ks.at(k0 + k);
        run(s.data + at * size_of(s.dtype), {1}, valid, out + k * width);
      }
      continue;
    }
    for (std::int64_t lane = 0; lane < valid; ++lane) {
      T along[kGemmBlockK];
      const Place from = place_of(s, first + l + lane, k0);
      run(from.data, from.ks, kc, along);
      for (std::int64_t k = 0; k < kc; ++k) out[k * width + lane] = along[k];
    }
  }
}

inline constexpr std::int64_t kMostPanel = 48;  // lanes of the widest panel (gemm_wide.cpp)

// How many k from `k` on are transposed in squares of `square` lanes: rows of a width that they don't divide run into
// the next row, which is written behind them, and for which the last one has to leave room.
constexpr std::int64_t in_squares(std::int64_t kc, std::int64_t width, std::int64_t square) {
  return (width % square == 0 ? kc : kc - 1) / square * square;
}

// out[k * width + lane] of `width` lanes that each stand in a run along k, eight (four of double) k at a time. `runs`
// has an entry for each lane of a square. How many k are done.
inline std::int64_t transpose_runs(const float* const* runs, std::int64_t kc, std::int64_t width, float* out) {
  const std::int64_t done = in_squares(kc, width, 8);
  for (std::int64_t k = 0; k < done; k += 8)
    for (std::int64_t l = (width - 1) / 8 * 8; l >= 0; l -= 8) transpose_8x8(runs + l, k, out + k * width + l, width);
  return done;
}
inline std::int64_t transpose_runs(const double* const* runs, std::int64_t kc, std::int64_t width, double* out) {
  const std::int64_t done = in_squares(kc, width, 4);
  for (std::int64_t k = 0; k < done; k += 4)
    for (std::int64_t l = (width - 1) / 4 * 4; l >= 0; l -= 4) transpose_4x4(runs + l, k, out + k * width + l, width);
  return done;
}

inline constexpr std::int64_t kAhead = 8;  // k whose lanes are fetched early: each stands on a line of its own

// `valid` of `width` lanes from the places of `lanes`; `ks` starts at the panel's first k. Unit divides width.
template <class T, std::int64_t Unit>
void pack_panel(const T* data, GemmAxis lanes, std::int64_t valid, GemmAxis ks, std::int64_t kc, std::int64_t width,
                T* out) {
  if (valid < width) std::memset(out, 0, static_cast<std::size_t>(kc * width) * sizeof(T));
  if (valid == width && lanes.is_unit()) {  // lanes stand side by side
    for (std::int64_t k = 0; k < kc; ++k) {
      __builtin_prefetch(data + ks.at(std::min(k + kAhead, kc - 1)));
      for (std::int64_t l = 0; l < width; l += Unit)
        std::memcpy(out + k * width + l, data + ks.at(k) + l, Unit * sizeof(T));
    }
    return;
  }
  std::int64_t done = 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (valid == width && ks.is_unit()) {
      const T* runs[kMostPanel];
      for (std::int64_t l = 0; l < (width + 7) / 8 * 8; ++l) runs[l] = data + lanes.at(std::min(l, width - 1));
      done = transpose_runs(runs, kc, width, out);
    }
  }
  for (std::int64_t l = 0; l < valid; ++l) {
    const T* from = data + lanes.at(l);
    for (std::int64_t k = done; k < kc; ++k) out[k * width + l] = from[ks.at(k)];
  }
}

// Two panels of a line's lanes that stand side by side: lines next to each other arrive together.
template <class T, std::int64_t Unit>
[[gnu::noinline]] void pack_two_panels(const T* data, GemmAxis ks, std::int64_t kc, T* out) {
  for (std::int64_t k = 0; k < kc; ++k, out += Unit) {
    const T *from = data + ks.at(k), *ahead = data + ks.at(std::min(k + kAhead, kc - 1));
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + Unit);
    std::memcpy(out, from, Unit * sizeof(T));
    std::memcpy(out + kc * Unit, from + Unit, Unit * sizeof(T));
  }
}

template <class T, std::int64_t Unit>
void pack(const GemmSource& s, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t kc,
          std::int64_t width, T* out) {
  if (!needs_no_conversion<T>(s)) return pack_converted(s, first, count, k0, kc, width, out);
  const auto* data = reinterpret_cast<const T*>(s.data);
  if (!s.ks.table) data += k0 * s.ks.stride;
  std::int64_t l = 0;
  if constexpr (std::is_floating_point_v<T> && Unit * sizeof(T) == 64)
    for (; s.lanes.is_unit() && l + 2 * width <= count; l += 2 * width, out += 2 * kc * width)
      pack_two_panels<T, Unit>(data + first + l, s.ks.from(k0), kc, out);
  for (; l < count; l += width, out += kc * width)
    pack_panel<T, Unit>(s.lanes.table ? data : data + (first + l) * s.lanes.stride, s.lanes.from(first + l),
                        std::min(width, count - l), s.ks.from(k0), kc, width, out);
}

}  // namespace tfvm::gemm_detail
