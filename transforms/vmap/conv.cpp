// Lanes of images are more images, lanes of kernels more outputs; where both have lanes, these are groups.
#include "transforms/conv_layout.h"
#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

// The place of channels in x and in the result, without a batch dim.
std::int64_t channel_dim(const Conv& c, Dims lane) { return c.last ? static_cast<std::int64_t>(lane.size()) - 1 : 1; }

// Within each group of images, one lane after another.
ValueId batch_images(BatchCtx& c, const Conv& conv) {
  Builder& b = c.b;
  const std::int64_t groups = conv.batch_groups, images = c.lane_dims(0)[0] / groups, size = c.axis.size;
  ValueId x = c.x[0];
  if (groups > 1) x = move_dim(b, split_dim(b, x, 1, {groups, images}), 1, 0);
  const ValueId y = emit_conv(b, merge_dims(b, x, 0, groups > 1 ? 3 : 2), c.x[1], conv);
  return split_dim(b, y, 0, {size, images});
}

// Within each group of outputs, one lane after another.
ValueId batch_kernels(BatchCtx& c, const Conv& conv) {
  Builder& b = c.b;
  const std::int64_t groups = conv.feature_groups * conv.batch_groups, size = c.axis.size;
  const std::int64_t outputs = c.lane_dims(1)[0] / groups, at = channel_dim(conv, c.lane_dims(0));
  const ValueId w = move_dim(b, split_dim(b, c.x[1], 1, {groups, outputs}), 1, 0);
  const ValueId y = emit_conv(b, c.x[0], merge_dims(b, w, 0, 3), conv);
  const ValueId lanes = move_dim(b, split_dim(b, y, at, {groups, size, outputs}), at + 1, 0);
  return merge_dims(b, lanes, at + 1, 2);
}

// Each lane's groups are groups of their own.
ValueId batch_both(BatchCtx& c, Conv conv) {
  Builder& b = c.b;
  const std::int64_t size = c.axis.size, at = channel_dim(conv, c.lane_dims(0)), outputs = c.lane_dims(1)[0];
  ValueId x = c.x[0];
  if (conv.batch_groups > 1) {
    x = merge_dims(b, x, 0, 2);
    conv.batch_groups *= size;
  } else {
    x = merge_dims(b, move_dim(b, x, 0, at), at, 2);
    conv.feature_groups *= size;
  }
  const ValueId y = emit_conv(b, x, merge_dims(b, c.x[1], 0, 2), conv);
  return move_dim(b, split_dim(b, y, at, {size, outputs}), at, 0);
}

}  // namespace

void batch_conv(BatchCtx& c) {
  if (c.b.failed()) return c.push(kNoValue);
  if (c.axis.size == 0) return c.push_no_lanes();
  const Conv conv = conv_of(c.attrs(), c.in.attrs, c.lane_dims(1));
  c.push(!c.batched[1] ? batch_images(c, conv) : !c.batched[0] ? batch_kernels(c, conv) : batch_both(c, conv));
}

}  // namespace tfvm
