// Contractions: each result has what its row and its column have; a factor that is known and zero leaves nothing.
#include "transforms/sparse/dependence.h"
#include "transforms/sparse/places.h"

namespace tfvm {

namespace {

constexpr std::size_t kMaxProducts = std::size_t{1} << 26;  // factors looked at one by one

using List = std::vector<std::int64_t>;
using Places = std::vector<std::size_t>;

// Of one operand: where each result starts, and where the factors stand from there.
struct Side {
  Places start, factors;
};

bool has(Ints v, std::size_t d) {
  for (std::int64_t i : v)
    if (i == static_cast<std::int64_t>(d)) return true;
  return false;
}

Side side(DepCtx& c, std::size_t k) {
  const AttrTable& at = c.t().attrs;
  const Ints batch = at.get_ints_at(c.in.attrs, Key::batch, k), contract = at.get_ints_at(c.in.attrs, Key::contract, k);
  const Dims dims = c.dims(k);
  const Places strides = row_major_strides(dims);
  // Results: batch dims, free dims of x, free dims of y.
  Places result(c.out_dims().size(), 0), inner;
  for (std::size_t b = 0; b < batch.size(); ++b) result[b] = strides[static_cast<std::size_t>(batch[b])];
  std::size_t next = batch.size();
  if (k == 1) next += c.dims(0).size() - batch.size() - contract.size();
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (!has(batch, d) && !has(contract, d)) result[next++] = strides[d];
  List sizes;
  for (std::int64_t d : contract) {
    inner.push_back(strides[static_cast<std::size_t>(d)]);
    sizes.push_back(dims[static_cast<std::size_t>(d)]);
  }
  return {strided_places(c.out_dims(), result), strided_places(sizes, inner)};
}

// Adds the sets of operand k; with `other` known, only where the other factor is not zero.
void add_side(DepCtx& c, std::size_t k, const Side& s, const Side& other, std::vector<SetId>& out) {
  if (!c.x[k].sets) return;
  const Fact& factor = c.x[1 - k];
  const bool look = factor.is_known() && s.start.size() * s.factors.size() <= kMaxProducts;
  std::vector<SetId> lines(look ? 0 : c.sets(k).size(), kNoIndex), ids;
  for (std::size_t i = 0; i < out.size(); ++i) {
    ids.clear();
    if (!look && lines[s.start[i]] != kNoIndex) {
      out[i] = c.d.sets().unite(out[i], lines[s.start[i]]);
      continue;
    }
    for (std::size_t j = 0; j < s.factors.size(); ++j) {
      const auto place = static_cast<std::int64_t>(other.start[i] + other.factors[j]);
      if (!look || c.t().consts.as_double(factor.known, place) != 0)
        ids.push_back(c.sets(k)[s.start[i] + s.factors[j]]);
    }
    const SetId line = c.d.sets().unite(ids);
    if (!look) lines[s.start[i]] = line;
    out[i] = c.d.sets().unite(out[i], line);
  }
}

}  // namespace

void depend_dot(DepCtx& c) {
  const Side x = side(c, 0), y = side(c, 1);
  std::vector<SetId> out(x.start.size(), kEmptySet);
  if (!x.factors.empty()) {
    add_side(c, 0, x, y, out);
    add_side(c, 1, y, x, out);
  }
  c.y[0].sets = c.d.of(std::move(out)).sets;
}

}  // namespace tfvm
