// Both transposes of a convolution are convolutions (Dumoulin and Visin, "A guide to convolution arithmetic for deep
// learning", 2016), here for channels first; other layouts are moved there and back.
#include "transforms/conv_layout.h"
#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

ValueId channels_first(Builder& b, ValueId v, bool last) {
  return b.failed() || !last ? v : move_dim(b, v, b.rank(v) - 1, 1);
}
ValueId channels_back(Builder& b, ValueId v, bool last) {
  return b.failed() || !last ? v : move_dim(b, v, 1, b.rank(v) - 1);
}

Dims space_of(Builder& b, ValueId v) { return b.dims(v).subspan(2); }

// By x[N,C,…]: over the cotangents [N',O,…], with kernels reversed and their inputs and outputs swapped in each group.
ValueId by_input(Builder& b, const Conv& c, Dims x_space, ValueId w, ValueId ct) {
  const std::int64_t groups = c.feature_groups * c.batch_groups;
  const Dims dims = b.dims(w);
  const std::int64_t outputs = dims[0] / groups, inputs = dims[1];
  std::vector<std::int64_t> axes;
  for (std::int64_t d = 2; d < b.rank(w); ++d) axes.push_back(d);
  ValueId k = move_dim(b, split_dim(b, w, 0, {groups, outputs}), 1, 2);
  k = b.emit(Op::reverse, {merge_dims(b, k, 0, 2)}, {{Key::axes, Ints(axes)}});
  Conv back;
  back.windows = transposed_windows(c.windows, x_space, space_of(b, ct));
  back.feature_groups = groups;
  const ValueId d = emit_conv(b, ct, k, back);
  if (c.batch_groups == 1) return d;
  return merge_dims(b, move_dim(b, split_dim(b, d, 1, {groups, inputs}), 1, 0), 0, 2);
}

// By w[O,C/g,…]: images and channels change places, and the cotangents are the kernels.
ValueId by_kernel(Builder& b, const Conv& c, ValueId x, ValueId ct) {
  Conv over;
  Windows& w = over.windows = c.windows;
  std::swap(w.stride, w.dilation);
  w.size.assign(space_of(b, ct).begin(), space_of(b, ct).end());
  const Dims n = space_of(b, x);
  const auto dilated = [](std::int64_t m, std::int64_t by) { return m == 0 ? 0 : (m - 1) * by + 1; };
  for (std::size_t k = 0; k < n.size(); ++k)
    w.high[k] =
        dilated(w.size[k], w.dilation[k]) + (c.windows.size[k] - 1) * w.stride[k] - dilated(n[k], w.base[k]) - w.low[k];
  over.batch_groups = c.feature_groups;
  over.feature_groups = c.batch_groups;
  return move_dim(b, emit_conv(b, move_dim(b, x, 1, 0), move_dim(b, ct, 1, 0), over), 1, 0);
}

}  // namespace

void transpose_conv(TransposeCtx& c) {
  if (c.is_linear(0) && c.is_linear(1)) return c.refuse();
  Builder& b = c.b;
  if (b.failed() || c.tables().types.elements(b.type(c.ct())) == 0) return;
  const Conv conv = conv_of(c.attrs(), c.in.attrs, c.dims(1));
  const ValueId ct = channels_first(b, c.ct(), conv.last);
  if (b.failed()) return;
  if (c.is_linear(0)) {
    const Dims x = c.dims(0);
    const ValueId w = channels_first(b, c.known(1), conv.last);
    if (b.failed()) return;
    const ValueId d = by_input(b, conv, x.subspan(conv.last ? 1 : 2, x.size() - 2), w, ct);
    c.add(0, channels_back(b, d, conv.last));
  } else {
    const ValueId x = channels_first(b, c.known(0), conv.last);
    if (b.failed()) return;
    c.add(1, channels_back(b, by_kernel(b, conv, x, ct), conv.last));
  }
}

}  // namespace tfvm
