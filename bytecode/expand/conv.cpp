// Convolutions and pools as torch.nn.functional: channels first, x[N,C,space…], w[O,C/groups,space…].
#include <algorithm>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

namespace {
AttrId pairs(ExpandCtx& c, Ints low, Ints high) {
  std::vector<AttrId> items;
  for (std::size_t k = 0; k < low.size(); ++k) items.push_back(attrs(c).ints(Shape{low[k], high[k]}));
  return attrs(c).list(items);
}

// y + b along the channels.
ValueId add_bias(ExpandCtx& c, ValueId y) {
  if (c.in.size() < 3 || c.b.failed()) return y;
  Shape thin(at(c.b.rank(y)), 1);
  thin[1] = c.b.tables().types.elements(c.b.type(c.in[2]));
  return c.b.emit(Op::add, {y, reshape(c.b, c.in[2], thin)});
}

// Sums of a few of these stay within 64 bits.
bool are_modest(Ints v) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return std::ranges::all_of(v, [](std::int64_t n) { return n >= -kMost && n <= kMost; });
}

bool check_ranks(ExpandCtx& c, std::string_view op, std::size_t n) {
  if (dims(c, 0).size() == n + 2 && dims(c, 1).size() == n + 2) return true;
  expected(c, op, "x[N,C,…] and w with " + std::to_string(n) + " dims of space");
  return false;
}

Values conv(ExpandCtx& c, std::string_view op, std::size_t n) {
  Shape strides, padding, dilation;
  if (!check_ranks(c, op, n) || !list_of(c, op, Key::strides, n, 1, strides) ||
      !list_of(c, op, Key::padding, n, 0, padding) || !list_of(c, op, Key::dilation, n, 1, dilation))
    return {};
  return {add_bias(c, c.b.emit(Op::conv, {c.in[0], c.in[1]},
                               {{Key::strides, Ints(strides)},
                                {Key::padding, pairs(c, padding, padding)},
                                {Key::rhs_dilation, Ints(dilation)},
                                {Key::feature_groups, get_int(c, Key::groups)}}))};
}
}  // namespace

Values expand_conv1d(ExpandCtx& c) { return conv(c, "conv1d", 1); }
Values expand_conv2d(ExpandCtx& c) { return conv(c, "conv2d", 2); }
Values expand_conv3d(ExpandCtx& c) { return conv(c, "conv3d", 3); }

// The transpose of conv2d by x; w[C,O,kh,kw]: a convolution of the dilated x with the flipped kernel.
Values expand_conv_transpose2d(ExpandCtx& c) {
  const std::string_view op = "conv_transpose2d";
  Shape strides, padding, extra;
  if (!check_ranks(c, op, 2) || !list_of(c, op, Key::strides, 2, 1, strides) ||
      !list_of(c, op, Key::padding, 2, 0, padding) || !list_of(c, op, Key::output_padding, 2, 0, extra))
    return {};
  if (!are_modest(padding) || !are_modest(extra)) return expected(c, op, "a padding that fits into memory");
  const Shape w = dims(c, 1);
  Shape low, high;
  for (std::size_t k = 0; k < 2; ++k) {
    low.push_back(w[k + 2] - 1 - padding[k]);
    high.push_back(low[k] + extra[k]);
  }
  const ValueId kernel = reverse(c.b, transpose(c.b, c.in[1], Shape{1, 0, 2, 3}), Shape{2, 3});
  return {add_bias(c, c.b.emit(Op::conv, {c.in[0], kernel},
                               {{Key::padding, pairs(c, low, high)}, {Key::lhs_dilation, Ints(strides)}}))};
}

namespace {
// reduce_window over the last two dims; strides left out are the window.
ValueId pool(ExpandCtx& c, std::string_view op, const char* combine, Shape& window) {
  Shape strides, padding;
  if (rank(c, 0) < 2) expected(c, op, "x[..,H,W]");
  if (c.b.failed() || !list_of(c, op, Key::window, 2, 1, window) || !list_of(c, op, Key::padding, 2, 0, padding))
    return kNoValue;
  strides = window;
  if (has(c, Key::strides) && !list_of(c, op, Key::strides, 2, 1, strides)) return kNoValue;
  const auto full = [&](const Shape& two, std::int64_t fill) {
    Shape s(at(rank(c, 0)) - 2, fill);
    s.insert(s.end(), two.begin(), two.end());
    return s;
  };
  const Shape w = full(window, 1), s = full(strides, 1), p = full(padding, 0);
  return c.b.emit(
      Op::reduce_window, {c.in[0]},
      {{Key::op, combine}, {Key::window, Ints(w)}, {Key::strides, Ints(s)}, {Key::padding, pairs(c, p, p)}});
}

// Part i of n along an axis of the given size: [⌊i·size/n⌋, ⌈(i+1)·size/n⌉), averaged.
ValueId average_parts(ExpandCtx& c, ValueId x, std::int64_t axis, std::int64_t n) {
  if (x == kNoValue) return x;
  const std::int64_t size = c.b.dims(x)[at(axis)];
  const Shape axes{axis};
  Values parts;
  for (std::int64_t i = 0; i < n && !c.b.failed(); ++i) {
    const std::int64_t start = i * size / n, limit = ((i + 1) * size + n - 1) / n;
    const ValueId sum =
        c.b.emit(Op::reduce_sum, {slice(c.b, x, axis, start, limit)}, {{Key::axes, Ints(axes)}, {Key::keepdims, true}});
    if (sum == kNoValue) return sum;
    parts.push_back(c.b.emit(Op::div, {sum, c.b.splat_like(sum, static_cast<double>(limit - start))}));
  }
  return concat(c.b, parts, axis);
}
}  // namespace

Values expand_max_pool2d(ExpandCtx& c) {
  Shape window;
  return {pool(c, "max_pool2d", "max", window)};
}

// The average counts padding as zeros.
Values expand_avg_pool2d(ExpandCtx& c) {
  Shape window;
  const ValueId sum = pool(c, "avg_pool2d", "add", window);
  if (sum == kNoValue) return {};
  return {
      c.b.emit(Op::div, {sum, c.b.splat_like(sum, static_cast<double>(window[0]) * static_cast<double>(window[1]))})};
}

Values expand_adaptive_avg_pool2d(ExpandCtx& c) {
  Shape output;
  if (!list_of(c, "adaptive_avg_pool2d", Key::output, 2, 1, output)) return {};
  if (rank(c, 0) < 2 || std::ranges::any_of(output, [](std::int64_t n) { return n < 1 || n > 4096; }))
    return expected(c, "adaptive_avg_pool2d", "x[..,H,W] and an output between 1 and 4096 in each dim");
  const ValueId rows = average_parts(c, c.in[0], rank(c, 0) - 2, output[0]);
  return {average_parts(c, rows, rank(c, 0) - 1, output[1])};
}

}  // namespace tfvm
