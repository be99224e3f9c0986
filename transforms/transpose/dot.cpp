#include <algorithm>

#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

List to_list(Ints v) { return {v.begin(), v.end()}; }

// The dims of one operand that are neither batch nor contracted.
List free_dims(std::int64_t rank, const List& batch, const List& contract) {
  List out;
  for (std::int64_t d = 0; d < rank; ++d)
    if (std::ranges::find(batch, d) == batch.end() && std::ranges::find(contract, d) == contract.end())
      out.push_back(d);
  return out;
}

List range(std::int64_t from, std::size_t n) {
  List out;
  for (std::size_t k = 0; k < n; ++k) out.push_back(from + static_cast<std::int64_t>(k));
  return out;
}

List join(List a, const List& b, const List& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

}  // namespace

// With z = dot(x, y), dims of z = batch, free of x, free of y. The cotangent of one operand contracts the cotangent of
// z with the free dims of the other; its dims come out as batch, own free, own contracted, or in the other order where
// the operands are, and are moved into place.
void transpose_dot_general(TransposeCtx& c) {
  if (c.is_linear(0) && c.is_linear(1)) return c.refuse();
  if (c.b.failed()) return;
  AttrTable& at = c.tables().attrs;
  const std::size_t own = c.is_linear(0) ? 0 : 1, other = 1 - own;
  List batch[2], contract[2], free[2];
  for (std::size_t k = 0; k < 2; ++k) {
    batch[k] = to_list(at.get_ints_at(c.in.attrs, Key::batch, k));
    contract[k] = to_list(at.get_ints_at(c.in.attrs, Key::contract, k));
    free[k] = free_dims(static_cast<std::int64_t>(c.dims(k).size()), batch[k], contract[k]);
  }
  const std::size_t nb = batch[0].size();
  const List z_batch = range(0, nb);
  const auto z_other = range(static_cast<std::int64_t>(nb + (other == 1 ? free[0].size() : 0)), free[other].size());
  ValueId ct = c.ct();
  if (c.b.dtype(ct) != c.b.dtype(c.known(other)))
    ct = c.b.emit(Op::cast, {ct}, {{Key::dtype, c.b.dtype(c.known(other))}});
  // The other's contracted dims come in their order in it; each is one of ours.
  List contracted;
  List order(contract[other]);
  std::ranges::sort(order);
  for (std::int64_t o : order) {
    const auto k = std::ranges::find(contract[other], o) - contract[other].begin();
    contracted.push_back(contract[own][static_cast<std::size_t>(k)]);
  }
  // The other one goes first where only that leaves nothing to move.
  const List ct_places = join(batch[own], free[own], contracted),
             other_places = join(batch[own], contracted, free[own]);
  const bool other_first = !std::ranges::is_sorted(ct_places) && std::ranges::is_sorted(other_places);
  const List& places = other_first ? other_places : ct_places;
  const ValueId operands[] = {other_first ? c.known(other) : ct, other_first ? ct : c.known(other)};
  const auto pair = [&](const List& of_ct, const List& of_other) {
    const AttrId items[] = {at.ints(other_first ? of_other : of_ct), at.ints(other_first ? of_ct : of_other)};
    return at.list(items);
  };
  AttrId attrs = at.with(c.in.attrs, Key::batch, pair(z_batch, batch[other]));
  attrs = at.with(attrs, Key::contract, pair(z_other, free[other]));
  ValueId d = c.b.emit(Op::dot_general, operands, attrs);
  List perm(places.size());
  for (std::size_t k = 0; k < places.size(); ++k)
    perm[static_cast<std::size_t>(places[k])] = static_cast<std::int64_t>(k);
  d = c.b.emit(Op::transpose, {d}, {{Key::perm, Ints(perm)}});
  if (c.b.failed()) return;
  const DType want = c.tables().types.dtype(c.type(own));
  c.add(own, c.b.dtype(d) == want ? d : c.b.emit(Op::cast, {d}, {{Key::dtype, want}}));
}

}  // namespace tfvm
