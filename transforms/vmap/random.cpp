// Keys have leading dims of their own, so a key for each lane is an operand like any other. A draw whose key all lanes
// share means what the vmap says (axis.h).
#include <algorithm>

#include "transforms/vmap/batch.h"

namespace tfvm {

void batch_rng_bits(BatchCtx& c) {
  if (c.batched[0]) return c.emit(c.x, c.in.attrs);
  switch (c.axis.randomness) {
    case Randomness::Error:
      c.b.fail(
          Code::Type,
          "[rng_bits] vmap with randomness=\"error\" refuses a draw whose key is the same for all lanes: batch the "
          "key, or give randomness=\"same\" or \"different\"");
      return c.push(kNoValue);
    case Randomness::Same:
      return c.push(c.b.emit(Op::rng_bits, c.x, c.in.attrs), false);
    case Randomness::Different: {
      const AttrTable& at = c.attrs();
      const ValueId lanes = c.align(c.lane_index(), c.lane_dims(0).size() - 1);
      const ValueId key =
          c.b.emit(Op::rng_fold_in, {c.x[0], lanes}, {{Key::algorithm, at.get_str(c.in.attrs, Key::algorithm)}});
      return c.emit({&key, 1}, c.in.attrs);
    }
  }
}

void batch_rng_split(BatchCtx& c) { c.emit(c.x, c.in.attrs); }

// The lanes of keys and data broadcast from the right, behind the batch dim.
void batch_rng_fold_in(BatchCtx& c) {
  if (c.b.failed()) return c.push(kNoValue);
  const std::size_t rank = std::max(c.lane_dims(0).size() - 1, c.lane_dims(1).size());
  const ValueId operands[] = {c.batched[0] ? c.align(c.x[0], rank + 1) : c.x[0],
                              c.batched[1] ? c.align(c.x[1], rank) : c.x[1]};
  c.emit(operands, c.in.attrs);
}

}  // namespace tfvm
