// What is unrolled beside elementwise nests: reductions over small dims, concat, pad, small dots; in the orders of
// language.md, so that bits stay the same.
#include <algorithm>

#include "jit/region/build.h"
#include "jit/region/reduce.h"
#include "vm/plan/unroll.h"

namespace tfvm {

std::uint32_t Unroller::op(Op op, DType dtype, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  NestNode n;
  n.op = op;
  n.dtype = dtype;
  n.in = {a, b, c};
  return add(n);
}

// Rows of `row` elements, of at most kReduceLanes and kRowGroup rows: each folded in halves, then one after another.
std::uint32_t Unroller::reduced(Op with, std::vector<std::uint32_t> values, std::size_t row) {
  const DType d = dtype(values[0]);
  std::uint32_t sum = kNoNode;
  for (std::size_t at = 0; at < values.size(); at += row) {
    for (std::size_t half = kReduceLanes / 2; half > 0; half /= 2)
      for (std::size_t j = 0; j < half && j + half < row; ++j)
        values[at + j] = op(with, d, values[at + j], values[at + j + half]);
    sum = sum == kNoNode ? values[at] : op(with, d, sum, values[at]);
  }
  return sum;
}

bool Unroller::reduction(const Nest& n, bool has) {
  const std::size_t first = has ? lanes_.size() : 0;
  if (std::any_of(n.reduced.begin(), n.reduced.begin() + static_cast<std::ptrdiff_t>(first), [](auto r) { return r; }))
    return false;
  // Extents of the kept loops, 1 for others, and the other way round; elements of a row: of the reduced loops at the
  // end.
  Strides kept = n.extents, along = n.extents;
  for (std::size_t d = 0; d < n.extents.size(); ++d) (n.reduced[d] ? kept : along)[d] = 1;
  std::size_t row = 1, count = 1;
  bool is_row = true;
  for (std::size_t d = n.extents.size(); d-- > 0;) {
    if (n.extents[d] == 0) return false;
    if (n.extents[d] == 1) continue;
    is_row = is_row && n.reduced[d];
    if (n.reduced[d]) count *= static_cast<std::size_t>(n.extents[d]);
    if (is_row) row *= static_cast<std::size_t>(n.extents[d]);
    if (row > static_cast<std::size_t>(kReduceLanes) || count / row > static_cast<std::size_t>(kRowGroup)) return false;
  }
  return for_points(kept, has, [&](const Index& at) {
    std::vector<std::vector<std::uint32_t>> values(n.reductions.size());
    std::vector<std::uint32_t> now;
    const bool all = for_points(along, false, [&](const Index& inner) {
      Index place = at;
      for (std::size_t d = 0; d < place.size(); ++d) place[d] += inner[d];
      if (!nodes_at(n, place, has, now)) return false;
      for (std::size_t r = 0; r < values.size(); ++r) values[r].push_back(now[n.reductions[r].node]);
      for (const Store& s : n.stores) store(s.to, place, has, now[s.node]);
      return true;
    });
    for (std::size_t r = 0; r < values.size() && all; ++r)
      store(n.reductions[r].to, at, has, reduced(combining(n.reductions[r].op), std::move(values[r]), row));
    return all;
  });
}

Access Unroller::result_access(const Instr& in, const ItemSource& s) const {
  return row_major(s.out[0], t_.types.dtype(flat_.body.type(in.result())), dims(in.result()));
}

bool Unroller::is_known(const ItemSource& s) const {
  return s.instr < flat_.body.num_instrs() && is_unrolled(flat_.body.ops[s.instr]);
}

bool Unroller::opaque(const ItemSource& s) {
  if (!is_known(s)) return false;
  const Instr in = flat_.body.instr(s.instr);
  switch (in.op) {
    case Op::concat:
      return concat(in, s);
    case Op::pad:
      return pad(in, s);
    case Op::dot_general:
      return dot(in, s);
    case Op::dynamic_slice:
      return slice(in, s);
    default:
      return lookup(in, s);
  }
}

bool Unroller::concat(const Instr& in, const ItemSource& s) {
  const auto axis = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::axis));
  const Access out = result_access(in, s);
  const bool has = has_lanes(dims(in.result()));
  if (has && axis < lanes_.size()) return false;
  std::int64_t from = 0;
  for (std::size_t k = 0; k < s.in.size(); ++k) {
    const Dims d = dims(in.operands[k]);
    const bool all = for_points(d, has, [&](Index at) {
      const std::uint32_t v = element(s.in[k], at, has);
      at[axis] += from;
      if (v != kNoNode) store(out, at, has, v);
      return v != kNoNode;
    });
    if (!all) return false;
    from += d[axis];
  }
  return true;
}

bool Unroller::pad(const Instr& in, const ItemSource& s) {
  const Ints low = t_.attrs.get_ints(in.attrs, Key::low), interior = t_.attrs.get_ints(in.attrs, Key::interior);
  const Dims from = dims(in.operands[0]), to = dims(in.result());
  const bool has = has_lanes(to);
  for (std::size_t d = 0; d < lanes_.size() && has; ++d)
    if (from[d] != to[d] || low[d] != 0) return false;
  const Access out = result_access(in, s);
  return for_points(to, has, [&](const Index& at) {
    Index place = at;
    bool inside = true;
    for (std::size_t d = has ? lanes_.size() : 0; d < at.size(); ++d) {
      const std::int64_t step = 1 + (interior.empty() ? 0 : interior[d]), rest = at[d] - low[d];
      place[d] = rest / step;
      inside = inside && rest >= 0 && rest % step == 0 && place[d] < from[d];
    }
    const std::uint32_t v = inside ? element(s.in[0], place, has) : element(s.in[1], {}, false);
    if (v != kNoNode) store(out, at, has, v);
    return v != kNoNode;
  });
}

Strides Unroller::chain(const Instr& dot) const {
  Strides extents;
  for (std::int64_t a : t_.attrs.get_ints_at(dot.attrs, Key::contract, 0))
    extents.push_back(dims(dot.operands[0])[static_cast<std::size_t>(a)]);
  return extents;
}

std::optional<std::size_t> lanes_of_product(Dims to, std::size_t own, Dims lanes) {
  if (lanes.empty()) return std::nullopt;
  for (const std::size_t first : {std::size_t{0}, own})
    if (first + lanes.size() <= to.size() && std::ranges::equal(lanes, to.subspan(first, lanes.size()))) return first;
  return std::nullopt;
}

// One chain of fma per element, which starts at 0.
bool Unroller::dot(const Instr& in, const ItemSource& s) {
  constexpr std::int64_t kMaxChain = 256;  // one block of the order of dots
  const DType d = s.in[0].dtype;
  if ((d != DType::F32 && d != DType::F64) || t_.attrs.has(in.attrs, Key::accum)) return false;
  const Strides steps = chain(in);
  std::int64_t length = 1;
  for (std::int64_t e : steps) length = std::min(length * e, kMaxChain + 1);
  if (length > kMaxChain) return false;
  const Dims given = dims(in.result());
  Access x = factor_access(t_.attrs, in.attrs, 0, s.in[0], given.size());
  Access y = factor_access(t_.attrs, in.attrs, 1, s.in[1], given.size()), out = result_access(in, s);
  Strides to(given.begin(), given.end());
  const std::size_t own = dims(in.operands[0]).size() - steps.size();  // dims that x has
  const std::optional<std::size_t> first = lanes_of_product(to, own, lanes_);
  const auto rotate = [&](auto& list) {
    const auto at = static_cast<std::ptrdiff_t>(first.value_or(0));
    std::rotate(list.begin(), list.begin() + at, list.begin() + at + std::ssize(lanes_));
  };
  if (first) {
    rotate(to);
    for (Access* a : {&x, &y, &out}) rotate(a->strides);
  }
  const bool has = first.has_value();
  return for_points(to, has, [&](const Index& at) {
    NestNode zero;
    zero.kind = NestNodeKind::Constant;
    zero.dtype = d;
    std::uint32_t sum = add(zero);
    const bool all = for_points(steps, false, [&](const Index& k) {
      Index from = at;
      from.insert(from.end(), k.begin(), k.end());
      const std::uint32_t a = element(x, from, has), b = element(y, from, has);
      if (a == kNoNode || b == kNoNode) return false;
      sum = op(Op::fma, d, a, b, sum);
      return true;
    });
    if (all) store(out, at, has, sum);
    return all;
  });
}

}  // namespace tfvm
