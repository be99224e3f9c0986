#include "vm/layout.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tfvm {

std::int64_t Layout::elements() const {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  return n;
}

bool Layout::is_row_major() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return true;
  std::int64_t expected = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    if (dims[k] != 1 && strides[k] != expected) return false;
    expected *= dims[k];
  }
  return true;
}

Layout row_major(Dims dims) {
  Layout x;
  x.dims.assign(dims.begin(), dims.end());
  x.strides.resize(dims.size());
  std::int64_t stride = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    x.strides[k] = stride;
    stride *= std::max<std::int64_t>(dims[k], 1);
  }
  return x;
}

Layout transposed(const Layout& x, Ints perm) {
  Layout y{{}, {}, x.offset};
  for (std::int64_t axis : perm) {
    y.dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
    y.strides.push_back(x.strides[static_cast<std::size_t>(axis)]);
  }
  return y;
}

Layout sliced(const Layout& x, Ints start, Ints limit, Ints stride) {
  Layout y = x;
  for (std::size_t k = 0; k < x.dims.size(); ++k) {
    y.dims[k] = (limit[k] - start[k] + stride[k] - 1) / stride[k];
    // A slice of nothing may start behind the end; a slice of one may have any stride.
    y.strides[k] = y.dims[k] > 1 ? x.strides[k] * stride[k] : x.strides[k];
    if (y.dims[k] > 0) y.offset += start[k] * x.strides[k];
  }
  return y;
}

Layout reversed(const Layout& x, Ints axes) {
  Layout y = x;
  for (std::int64_t axis : axes) {
    const auto k = static_cast<std::size_t>(axis);
    if (x.dims[k] > 0) y.offset += (x.dims[k] - 1) * x.strides[k];
    y.strides[k] = -x.strides[k];
  }
  return y;
}

Layout broadcast(const Layout& x, Dims dims) {
  Layout y{{dims.begin(), dims.end()}, Extents(dims.size(), 0), x.offset};
  const std::size_t lead = dims.size() - x.dims.size();
  for (std::size_t k = 0; k < x.dims.size(); ++k)
    if (x.dims[k] == dims[lead + k]) y.strides[lead + k] = x.strides[k];
  return y;
}

// Runs of old dims that are contiguous among themselves are cut into new dims (numpy's attempt_nocopy_reshape).
std::optional<Layout> reshaped(const Layout& x, Dims dims) {
  Layout y = row_major(dims);
  y.offset = x.offset;
  if (x.is_row_major()) return y;
  Extents old_dims, old_strides;
  for (std::size_t k = 0; k < x.dims.size(); ++k) {
    if (x.dims[k] == 1) continue;
    old_dims.push_back(x.dims[k]);
    old_strides.push_back(x.strides[k]);
  }
  std::size_t i = 0, j = 0;
  while (i < old_dims.size() && j < dims.size()) {
    std::size_t i_end = i + 1, j_end = j + 1;
    std::int64_t n = old_dims[i], m = dims[j];
    while (n != m) {
      if (n < m) {
        n *= old_dims[i_end++];
      } else {
        m *= dims[j_end++];
      }
    }
    for (std::size_t k = i; k + 1 < i_end; ++k)
      if (old_strides[k] != old_strides[k + 1] * old_dims[k + 1]) return std::nullopt;
    std::int64_t stride = old_strides[i_end - 1];
    for (std::size_t k = j_end; k-- > j;) {
      y.strides[k] = stride;
      stride *= dims[k];
    }
    i = i_end;
    j = j_end;
  }
  return y;
}

Extent extent(const Layout& x) {
  Extent e{x.offset, x.offset + 1};
  for (std::size_t k = 0; k < x.dims.size(); ++k) {
    if (x.dims[k] == 0) return {0, 0};
    const std::int64_t span = (x.dims[k] - 1) * x.strides[k];
    (span < 0 ? e.begin : e.end) += span;
  }
  return e;
}

namespace {

struct Axis {
  std::int64_t n, to, from;
};

// Axes of extent over 1 from the outermost in, neighbours merged where both sides step as one.
using Axes = InlineVector<Axis, 6>;

Axes merged_axes(const Layout& to, const Layout& from) {
  Axes axes;
  for (std::size_t k = 0; k < to.dims.size(); ++k) {
    const Axis a{to.dims[k], to.strides[k], from.strides[k]};
    if (a.n == 1) continue;
    if (!axes.empty() && axes.back().to == a.n * a.to && axes.back().from == a.n * a.from) {
      axes.back() = {axes.back().n * a.n, a.to, a.from};
    } else {
      axes.push_back(a);
    }
  }
  return axes;
}

template <class T>
void copy_row(const Axis& a, std::byte* dst, const std::byte* src) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (a.to == 1 && a.from == 1) {
    std::memcpy(dst, src, static_cast<std::size_t>(a.n * kSize));
    return;
  }
  for (std::int64_t i = 0; i < a.n; ++i) std::memcpy(dst + i * a.to * kSize, src + i * a.from * kSize, sizeof(T));
}

template <class T>
void copy_axes(std::span<const Axis> outer, const Axis& inner, std::byte* dst, const std::byte* src) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  Extents at(outer.size(), 0);
  while (true) {
    copy_row<T>(inner, dst, src);
    std::size_t k = outer.size();
    for (; k > 0; --k) {
      const Axis& a = outer[k - 1];
      dst += a.to * kSize;
      src += a.from * kSize;
      if (++at[k - 1] < a.n) break;
      dst -= a.n * a.to * kSize;
      src -= a.n * a.from * kSize;
      at[k - 1] = 0;
    }
    if (k == 0) return;
  }
}

}  // namespace

void copy_elements(const Layout& to, std::byte* dst, const Layout& from, const std::byte* src, std::int64_t size) {
  if (to.elements() == 0) return;
  Axes axes = merged_axes(to, from);
  if (axes.empty()) axes.push_back({1, 1, 1});
  const Axis inner = axes.back();
  axes.pop_back();
  dst += to.offset * size;
  src += from.offset * size;
  switch (size) {
    case 1:
      return copy_axes<std::uint8_t>(axes, inner, dst, src);
    case 2:
      return copy_axes<std::uint16_t>(axes, inner, dst, src);
    case 4:
      return copy_axes<std::uint32_t>(axes, inner, dst, src);
    case 8:
      return copy_axes<std::uint64_t>(axes, inner, dst, src);
    default:
      return copy_axes<std::array<std::uint64_t, 2>>(axes, inner, dst, src);
  }
}

}  // namespace tfvm
