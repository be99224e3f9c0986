#pragma once
// What the rules of reduce_window, select_and_scatter_add and conv share: windows as numbers.

#include "bytecode/builder.h"

namespace tfvm {

// Per dim: StableHLO's attributes of windows, `base` and `dilation` those of the operand and of the window.
struct Windows {
  std::vector<std::int64_t> size, stride, low, high, base, dilation;
};

AttrId pairs(AttrTable& at, Ints low, Ints high);

// Of reduce_window and select_and_scatter_add, which has no dilations.
Windows windows_of(const AttrTable& at, AttrId attrs, std::size_t rank);
AttrId reduce_window_attrs(AttrTable& at, std::string_view op, const Windows& w);
AttrId select_attrs(AttrTable& at, const Windows& w);
// With one more dim in front that windows don't reach along.
Windows behind_batch(Windows w);

// Windows that run over the cotangents of `places` windows of an operand of `n` elements and give the cotangents of its
// elements, one dim each: dilated by the stride, and padded such that element i meets the windows that hold it.
Windows transposed_windows(const Windows& w, Dims n, Dims places);

// i64[places…, elements of a window]: row-major numbers of the elements in x[dims], -1 for padding and holes.
ValueId window_places(Builder& b, const Windows& w, Dims dims, Dims places);

}  // namespace tfvm
