// Elementwise ops: broadcasting aligns trailing dims, so the Builder adds the batch dim to unbatched operands.
#include "transforms/vmap/batch.h"

namespace tfvm {

void batch_elementwise(BatchCtx& c) { c.emit(c.x, c.in.attrs); }

void batch_same(BatchCtx& c) {
  const std::vector<ValueId> results = c.b.emit_all(c.in.op, c.x, c.in.attrs);
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], c.batched[k]);
}

// Every lane must hold. Lanes that are not there were given the values of one that is (vmap.h).
void batch_assert(BatchCtx& c) {
  const ValueId all = c.b.emit(Op::reduce_and, {c.x[0]}, {{Key::axes, c.attrs().none()}});
  c.b.emit(Op::assert_, std::span(&all, 1), c.in.attrs);
}

}  // namespace tfvm
