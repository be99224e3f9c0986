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
  const AttrId batch[] = {at.ints(batch_x), at.ints(batch_y)};
  const AttrId contract[] = {at.ints(contract_x), at.ints(contract_y)};
  AttrId attrs = at.with(c.in.attrs, Key::batch, at.list(batch));
  attrs = at.with(attrs, Key::contract, at.list(contract));
  const ValueId dot = c.b.emit(Op::dot_general, c.x, attrs);
  if ((bx && by) || c.b.failed()) return c.push(dot);
  const std::size_t free_x = c.lane_dims(0).size() - lead - contract_x.size();
  const std::size_t at_dim = bx ? lead : lead + free_x;
  std::vector<std::int64_t> perm{static_cast<std::int64_t>(at_dim)};
  for (std::int64_t d = 0; d < c.b.rank(dot); ++d)
    if (d != perm[0]) perm.push_back(d);
  c.push(c.b.emit(Op::transpose, {dot}, {{Key::perm, Ints(perm)}}));
}

}  // namespace tfvm
