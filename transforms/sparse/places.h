#pragma once
// Row-major places of elements.

#include <vector>

#include "bytecode/types.h"

namespace tfvm {

inline std::size_t element_count(Dims dims) {
  std::size_t n = 1;
  for (std::int64_t d : dims) n *= static_cast<std::size_t>(d);
  return n;
}

inline std::vector<std::size_t> row_major_strides(Dims dims) {
  std::vector<std::size_t> s(dims.size());
  std::size_t n = 1;
  for (std::size_t d = dims.size(); d-- > 0; n *= static_cast<std::size_t>(dims[d])) s[d] = n;
  return s;
}

// For each element of `dims`, in order, Σ index × stride.
inline std::vector<std::size_t> strided_places(Dims dims, std::span<const std::size_t> strides) {
  const std::size_t n = element_count(dims);
  std::vector<std::size_t> out(n, 0), at(dims.size(), 0);
  std::size_t place = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = place;
    for (std::size_t d = dims.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < static_cast<std::size_t>(dims[d])) break;
      place -= strides[d] * at[d];
      at[d] = 0;
    }
  }
  return out;
}

// For each element of `to` its place in `from`: equal ranks; sizes are equal, or 1 in `from`.
inline std::vector<std::size_t> broadcast_places(Dims from, Dims to) {
  std::vector<std::size_t> s = row_major_strides(from);
  for (std::size_t d = 0; d < s.size(); ++d)
    if (from[d] == 1) s[d] = 0;
  return strided_places(to, s);
}

}  // namespace tfvm
