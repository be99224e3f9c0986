#include "functionalize/strided.h"

#include <algorithm>
#include <unordered_set>

namespace tfvm::functional {

namespace {
std::int64_t elements(std::span<const std::int64_t> shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}
}  // namespace

std::int64_t elements(const Strided& x) { return elements(x.shape); }

Strided row_major(std::span<const std::int64_t> shape) {
  Strided s{0, {shape.begin(), shape.end()}, std::vector<std::int64_t>(shape.size())};
  std::int64_t stride = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    s.strides[k] = stride;
    stride *= std::max<std::int64_t>(shape[k], 1);
  }
  return s;
}

// Dims of x that step on without a gap form runs; each run is cut into dims of the new shape. As torch's computeStride.
std::optional<Strided> reshaped(const Strided& x, std::span<const std::int64_t> shape) {
  Strided out = row_major(shape);
  out.offset = x.offset;
  if (elements(shape) == 0 || x.shape.empty()) return out;
  auto to = static_cast<std::ptrdiff_t>(shape.size()) - 1;
  std::int64_t step = x.strides.back(), run = 1, made = 1;
  for (std::size_t k = x.shape.size(); k-- > 0;) {
    run *= x.shape[k];
    if (k > 0 && (x.shape[k - 1] == 1 || x.strides[k - 1] == run * step)) continue;
    for (; to >= 0 && (made < run || shape[static_cast<std::size_t>(to)] == 1); --to) {
      out.strides[static_cast<std::size_t>(to)] = made * step;
      made *= shape[static_cast<std::size_t>(to)];
    }
    if (made != run) return std::nullopt;
    if (k > 0) step = x.strides[k - 1];
    run = made = 1;
  }
  return to < 0 ? std::optional(std::move(out)) : std::nullopt;
}

Extent extent(const Strided& x) {
  Extent e{x.offset, x.offset};
  if (elements(x.shape) == 0) return {x.offset, x.offset - 1};
  for (std::size_t k = 0; k < x.shape.size(); ++k) e.last += (x.shape[k] - 1) * x.strides[k];
  return e;
}

bool overlaps_itself(const Strided& x) {
  const std::int64_t n = elements(x.shape);
  if (n < 2) return false;
  std::vector<std::size_t> dims;
  for (std::size_t k = 0; k < x.shape.size(); ++k)
    if (x.shape[k] > 1) dims.push_back(k);
  std::ranges::sort(dims, {}, [&](std::size_t k) { return x.strides[k]; });
  std::int64_t reach = 0;
  bool nested = true;  // each stride steps over all that lies within
  for (std::size_t k : dims) {
    nested = nested && x.strides[k] > reach;
    reach += (x.shape[k] - 1) * x.strides[k];
  }
  if (nested || n > reach + 1) return !nested;
  std::vector<bool> seen(static_cast<std::size_t>(reach) + 1);
  std::vector<std::int64_t> at(dims.size(), 0);
  for (std::int64_t i = 0, place = 0; i < n; ++i) {
    if (seen[static_cast<std::size_t>(place)]) return true;
    seen[static_cast<std::size_t>(place)] = true;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      place += x.strides[dims[d]];
      if (++at[d] < x.shape[dims[d]]) break;
      place -= x.shape[dims[d]] * x.strides[dims[d]];
      at[d] = 0;
    }
  }
  return false;
}

}  // namespace tfvm::functional
