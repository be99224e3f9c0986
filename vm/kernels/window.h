#pragma once
// Windows over the dims of an operand: dilated, padded, at strides (StableHLO, reduce_window).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

struct WindowDim {
  std::int64_t size = 1, stride = 1, low = 0, base_dilation = 1, dilation = 1;
};

// The elements of the operand, along one dim, that a window holds: first, first + step, …
struct WindowRun {
  std::int64_t first = 0, step = 1, count = 0;
};

// Of the window at place `o` of the result, where the operand has `n` elements. Only real elements: padding and the
// holes of dilation are left out. Costs O(1), with both dilations O(n).
inline WindowRun window_run(const WindowDim& d, std::int64_t n, std::int64_t o) {
  if (d.size == 1 && d.stride == 1 && d.low == 0 && d.base_dilation == 1) return {o, 1, o < n ? 1 : 0};
  // Element i stands at i * base_dilation + low and is reached from o * stride by multiples of dilation.
  const std::int64_t start = o * d.stride - d.low, end = start + (d.size - 1) * d.dilation;
  const auto up = [](std::int64_t a, std::int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; };
  std::int64_t first = up(start, d.base_dilation);
  const std::int64_t last = end < 0 ? -1 : std::min(n - 1, end / d.base_dilation);
  const std::int64_t step = d.dilation == 1 ? 1 : d.dilation / std::gcd(d.base_dilation, d.dilation);
  if (d.base_dilation == 1 && first <= last)
    first += (d.dilation - (first - start) % d.dilation) % d.dilation;
  else
    while (first <= last && (first * d.base_dilation - start) % d.dilation != 0) ++first;
  return {first, step, first > last ? 0 : (last - first) / step + 1};
}

// The runs of one window in all dims, and a walk over its elements in row-major order, as offsets in the operand.
class WindowWalk {
 public:
  // Dims [0, rank) of the window whose place in dim d is places(d).
  template <class Places>
  WindowWalk(const View& x, const std::vector<WindowDim>& dims, std::int32_t rank, Places places) : rank_(rank) {
    for (std::int32_t d = 0; d < rank; ++d) {
      const WindowRun run = window_run(dims[static_cast<std::size_t>(d)], x.dims[d], places(d));
      count_[d] = run.count;
      step_[d] = run.step * x.strides[d];
      index_[d] = 0;
      at_ += run.first * x.strides[d];
      more_ = more_ && run.count > 0;
    }
  }
  bool more() const { return more_; }
  std::int64_t at() const { return at_; }
  void next() {
    for (std::int32_t d = rank_; d-- > 0;) {
      at_ += step_[d];
      if (++index_[d] < count_[d]) return;
      at_ -= step_[d] * count_[d];
      index_[d] = 0;
    }
    more_ = false;
  }

 private:
  std::int32_t rank_;
  std::int64_t at_ = 0;
  bool more_ = true;
  std::int64_t count_[kMaxRank], step_[kMaxRank], index_[kMaxRank];
};

}  // namespace tfvm
