#include <algorithm>

#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

std::vector<std::int64_t> shifted(Ints v, bool shift) {
  std::vector<std::int64_t> out(v.begin(), v.end());
  for (std::int64_t& d : out) d += shift;
  return out;
}

}  // namespace

// Both batched: one more batch dim. One batched: its batch dim is a free dim, which the result has behind the batch
// dims (and behind the free dims of x, where it comes from y); it is moved to the front.
void batch_dot_general(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const bool bx = c.batched[0], by = c.batched[1];
  auto batch_x = shifted(at.get_ints_at(c.in.attrs, Key::batch, 0), bx);
  auto batch_y = shifted(at.get_ints_at(c.in.attrs, Key::batch, 1), by);
  const auto contract_x = shifted(at.get_ints_at(c.in.attrs, Key::contract, 0), bx);
  const auto contract_y = shifted(at.get_ints_at(c.in.attrs, Key::contract, 1), by);
  const std::size_t lead = batch_x.size();
  if (bx && by) {
    batch_x.insert(batch_x.begin(), 0);
    batch_y.insert(batch_y.begin(), 0);
  }
  const std::size_t free_x = c.lane_dims(0).size() - lead - contract_x.size();
  const std::size_t free_y = c.lane_dims(1).size() - lead - contract_y.size();
  // A batch of vectors by a matrix is a matrix by a batch of vectors, whose batch dim stands in front.
  const bool y_first = !bx && lead == 0 && free_y == 0;
  const auto pair = [&](const auto& of_x, const auto& of_y) {
    const AttrId items[] = {at.ints(y_first ? of_y : of_x), at.ints(y_first ? of_x : of_y)};
    return at.list(items);
  };
  AttrId attrs = at.with(c.in.attrs, Key::batch, pair(batch_x, batch_y));
  attrs = at.with(attrs, Key::contract, pair(contract_x, contract_y));
  const ValueId operands[] = {c.x[y_first ? 1 : 0], c.x[y_first ? 0 : 1]};
  const ValueId dot = c.b.emit(Op::dot_general, operands, attrs);
  if ((bx && by) || y_first || c.b.failed()) return c.push(dot);
  const std::size_t at_dim = bx ? lead : lead + free_x;
  std::vector<std::int64_t> perm{static_cast<std::int64_t>(at_dim)};
  for (std::int64_t d = 0; d < c.b.rank(dot); ++d)
    if (d != perm[0]) perm.push_back(d);
  c.push(c.b.emit(Op::transpose, {dot}, {{Key::perm, Ints(perm)}}));
}

}  // namespace tfvm
