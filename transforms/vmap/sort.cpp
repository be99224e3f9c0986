// Stacks of matrices are batches already. searchsorted has rules for its rows.
#include "transforms/vmap/batch.h"

namespace tfvm {

void batch_stack(BatchCtx& c) {
  std::vector<ValueId> all;
  for (std::size_t k = 0; k < c.x.size(); ++k) all.push_back(c.with_batch(k));
  c.emit(all, c.in.attrs);
}

// One row for all lanes serves values of any shape. A row per lane: the values of a lane are one row too.
void batch_searchsorted(BatchCtx& c) {
  Builder& b = c.b;
  const bool one_row = c.lane_dims(0).size() == 1;
  if (one_row && !c.batched[0]) return c.emit(c.x, c.in.attrs);
  const ValueId operands[] = {c.with_batch(0), c.with_batch(1)};
  if (!one_row) return c.emit(operands, c.in.attrs);
  if (b.failed()) return c.push(kNoValue);
  const Dims shape = b.dims(operands[1]);
  std::int64_t n = 1;
  for (std::int64_t d : shape.subspan(1)) n *= d;
  const std::int64_t flat[] = {shape[0], n};
  const ValueId values = b.emit(Op::reshape, {operands[1]}, {{Key::shape, Ints(flat)}});
  const ValueId found = b.emit(Op::searchsorted, std::vector{operands[0], values}, c.in.attrs);
  c.push(b.emit(Op::reshape, {found}, {{Key::shape, shape}}));
}

}  // namespace tfvm
