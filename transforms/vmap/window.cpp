// The batch dim is one that windows don't reach along.
#include "transforms/window.h"

#include "transforms/vmap/batch.h"

namespace tfvm {

void batch_reduce_window(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const Windows w = behind_batch(windows_of(at, c.in.attrs, c.lane_dims(0).size()));
  c.emit(c.x, reduce_window_attrs(at, at.get_str(c.in.attrs, Key::op), w));
}

void batch_select_and_scatter_add(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const Windows w = behind_batch(windows_of(at, c.in.attrs, c.lane_dims(0).size()));
  c.emit(std::vector{c.with_batch(0), c.with_batch(1)}, select_attrs(at, w));
}

}  // namespace tfvm
