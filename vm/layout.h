#pragma once
// Where the elements of a tensor stand relative to a pointer: dims, strides and an offset, all in elements. A stride
// may be 0 (broadcast) or negative (reversed). View ops are arithmetic on layouts; plans and tensors share it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bytecode/attrs.h"
#include "bytecode/types.h"
#include "bytecode/inline_vector.h"

namespace tfvm {

using Extents = InlineVector<std::int64_t, 6>;  // one per dim

struct Layout {
  Extents dims;
  Extents strides;
  std::int64_t offset = 0;

  std::int64_t rank() const { return static_cast<std::int64_t>(dims.size()); }
  std::int64_t elements() const;  // dims of a type: never overflows
  bool is_row_major() const;      // strides of dims of extent 1, or where there are no elements, don't matter
};

Layout row_major(Dims dims);

// Each takes attributes in the normalised form of the op of its name and checks nothing.
Layout transposed(const Layout& x, Ints perm);
Layout sliced(const Layout& x, Ints start, Ints limit, Ints stride);
Layout reversed(const Layout& x, Ints axes);
Layout broadcast(const Layout& x, Dims dims);  // trailing dims aligned
// nullopt where the elements in row-major order can't be reached by strides of the new dims.
std::optional<Layout> reshaped(const Layout& x, Dims dims);

// First and one past the last element reached, relative to the pointer; {0, 0} where there are none.
struct Extent {
  std::int64_t begin, end;
};
Extent extent(const Layout& x);

// Copies all elements of `size` bytes (1, 2, 4, 8 or 16) in row-major order of the dims, which are equal. The two don't
// overlap. `src` and `dst` are the pointers that the layouts are relative to.
void copy_elements(const Layout& to, std::byte* dst, const Layout& from, const std::byte* src, std::int64_t size);

}  // namespace tfvm
