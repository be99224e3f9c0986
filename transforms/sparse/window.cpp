// Windows: each result has what its window holds; of a convolution also what its row of w has, where neither factor is
// known to be zero.
#include "transforms/conv_layout.h"
#include "transforms/sparse/dependence.h"
#include "transforms/sparse/places.h"

namespace tfvm {

namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 26;  // of windows, looked at one by one

using List = std::vector<std::int64_t>;

// Calls each(index) for every element of `dims` in row-major order.
template <class Each>
void for_indices(Dims dims, Each each) {
  List at(dims.size(), 0);
  for (std::size_t left = element_count(dims); left > 0; --left) {
    each(at);
    for (std::size_t d = dims.size(); d-- > 0; at[d] = 0)
      if (++at[d] < dims[d]) break;
  }
}

std::size_t place_of(Dims dims, const List& at) {
  std::size_t p = 0;
  for (std::size_t d = 0; d < dims.size(); ++d)
    p = p * static_cast<std::size_t>(dims[d]) + static_cast<std::size_t>(at[d]);
  return p;
}

// The element along dim d that offset k of window o holds; -1 for padding and holes.
std::int64_t element(const Windows& w, std::size_t d, std::int64_t n, std::int64_t o, std::int64_t k) {
  const std::int64_t p = o * w.stride[d] + k * w.dilation[d] - w.low[d];
  return p < 0 || p % w.base[d] != 0 || p / w.base[d] >= n ? -1 : p / w.base[d];
}

bool is_known_zero(DepCtx& c, std::size_t operand, std::size_t place) {
  const Fact& f = c.x[operand];
  return f.is_known() && c.t().consts.as_double(f.known, static_cast<std::int64_t>(place)) == 0;
}

}  // namespace

void depend_reduce_window(DepCtx& c) {
  const Dims dims = c.dims(0), out = c.out_dims();
  const Windows w = windows_of(c.t().attrs, c.in.attrs, dims.size());
  if (!c.x[0].sets) return;
  if (element_count(out) * element_count(w.size) > kMaxElements) return depend_all(c);
  std::vector<SetId> v, ids;
  List at(dims.size());
  for_indices(out, [&](const List& o) {
    ids.clear();
    for_indices(w.size, [&](const List& k) {
      bool inside = true;
      for (std::size_t d = 0; d < at.size(); ++d) inside = (at[d] = element(w, d, dims[d], o[d], k[d])) >= 0 && inside;
      if (inside) ids.push_back(c.sets(0)[place_of(dims, at)]);
    });
    v.push_back(c.d.sets().unite(ids));
  });
  c.y[0].sets = c.d.of(std::move(v)).sets;
}

void depend_conv(DepCtx& c) {
  const Dims x = c.dims(0), w = c.dims(1), out = c.out_dims();
  const Conv conv = conv_of(c.t().attrs, c.in.attrs, w);
  if (element_count(out) * element_count(w.subspan(1)) > kMaxElements) return depend_all(c);
  const std::size_t channel = conv.last ? x.size() - 1 : 1, space = conv.last ? 1 : 2;
  const std::int64_t group_size = w[0] / (conv.feature_groups * conv.batch_groups);
  std::vector<SetId> v, ids;
  List from(x.size()), row(w.size());
  for_indices(out, [&](const List& o) {
    const std::int64_t group = o[channel] / group_size;
    ids.clear();
    row[0] = o[channel];
    for_indices(w.subspan(1), [&](const List& k) {
      std::copy(k.begin(), k.end(), row.begin() + 1);
      from[0] = o[0] + (conv.batch_groups > 1 ? group * out[0] : 0);
      from[channel] = row[channel] + (conv.feature_groups > 1 ? group * w[channel] : 0);
      for (std::size_t d = 0; d + 2 < x.size(); ++d) {
        from[space + d] = element(conv.windows, d, x[space + d], o[space + d], row[space + d]);
        if (from[space + d] < 0) return;
      }
      const std::size_t in_x = place_of(x, from), in_w = place_of(w, row);
      if (c.x[0].sets && !is_known_zero(c, 1, in_w)) ids.push_back(c.sets(0)[in_x]);
      if (c.x[1].sets && !is_known_zero(c, 0, in_x)) ids.push_back(c.sets(1)[in_w]);
    });
    v.push_back(c.d.sets().unite(ids));
  });
  c.y[0].sets = c.d.of(std::move(v)).sets;
}

}  // namespace tfvm
