#include "vm/plan/unroll.h"

#include <algorithm>
#include <cstring>

#include "jit/region/build.h"

namespace tfvm {

namespace {
constexpr auto kTooMany = static_cast<std::int64_t>(kMaxUnrolled) + 1;
}

Unroller::Unroller(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan, Strides lanes)
    : t_(t), flat_(flat), low_(low), plan_(plan), lanes_(std::move(lanes)) {
  out_.extents = lanes_;
  out_.reduced.assign(lanes_.size(), 0);
}

// How often `nodes` are made, once for each index behind the lanes; a bound of it where it is too often.
std::int64_t Unroller::times(std::int64_t nodes, Dims extents, bool has) const {
  for (std::size_t d = has ? lanes_.size() : 0; d < extents.size(); ++d)
    nodes = std::min(nodes * std::min(extents[d], kTooMany), kTooMany);
  return nodes;
}

bool Unroller::may_be_small() const {
  std::int64_t nodes = 0;
  for (std::size_t k = 0; k < low_.items.size() && nodes < kTooMany; ++k) {
    if (const auto& n = low_.items[k].nest) {
      const auto loads = std::ranges::count(n->nodes, NestNodeKind::Load, &NestNode::kind);
      nodes += times(std::ssize(n->nodes) - loads, n->extents, has_lanes(n->extents));
    } else if (!is_known(low_.sources[k])) {
      return false;
    } else if (const Instr in = flat_.body.instr(low_.sources[k].instr); in.op == Op::dot_general) {
      const Dims to = dims(in.result());
      nodes += times(1 + times(1, chain(in), false), to, !lanes_.empty() && has_lanes(to));
    }
  }
  return nodes < kTooMany;
}

bool Unroller::run(bool with_passed) {
  if (!may_be_small()) return false;
  for (std::uint32_t k = 0; k < low_.items.size(); ++k)
    if (!step(k)) return false;
  source_ = 0;
  return !with_passed || std::ranges::all_of(low_.passed, [&](const PassedParam& p) { return passed(p); });
}

bool Unroller::run(std::span<const std::uint32_t> items, std::vector<std::uint32_t> kept) {
  is_part_ = true;
  kept_ = std::move(kept);
  std::ranges::sort(kept_);
  return std::ranges::all_of(items, [&](std::uint32_t k) { return step(k); });
}

bool Unroller::step(std::uint32_t item) {
  source_ = low_.sources[item].instr + 1;
  const std::optional<Nest>& n = low_.items[item].nest;
  return (n ? nest(*n) : opaque(low_.sources[item])) && is_small();
}

bool Unroller::is_small() const {
  return out_.nodes.size() <= kMaxUnrolled && out_.accesses.size() <= kMaxUnrolledLoads &&
         out_.stores.size() <= kMaxUnrolledStores;
}

bool Unroller::has_lanes(Dims extents) const {
  return extents.size() >= lanes_.size() && std::equal(lanes_.begin(), lanes_.end(), extents.begin());
}

// What has no lanes is the same for all.
Strides Unroller::lane_strides(const Access& a, bool has) const {
  Strides s(lanes_.size(), 0);
  for (std::size_t d = 0; d < s.size() && has; ++d)
    if (lanes_[d] != 1) s[d] = a.strides[d];
  return s;
}

std::int64_t Unroller::offset(const Access& a, const Index& at) {
  std::int64_t o = a.offset;
  for (std::size_t d = 0; d < at.size(); ++d) o += a.strides[d] * at[d];
  return o;
}

bool Unroller::for_points(Dims extents, bool has, PointFn fn) {
  const std::size_t first = has ? lanes_.size() : 0;
  std::int64_t points = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 0) return true;
    if (d >= first) points *= extents[d];
    if (points > static_cast<std::int64_t>(kMaxUnrolled)) return false;
  }
  Index at(extents.size(), 0);
  for (; points > 0; --points) {
    if (!is_small() || !fn(at)) return false;
    for (std::size_t d = extents.size(); d-- > first;) {
      if (++at[d] < extents[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

bool Unroller::nest(const Nest& n) {
  const bool has = has_lanes(n.extents);
  if (n.has_reduction()) return reduction(n, has);
  std::vector<std::uint32_t> now;
  return for_points(n.extents, has, [&](const Index& at) {
    if (!nodes_at(n, at, has, now)) return false;
    for (const Store& s : n.stores) store(s.to, at, has, now[s.node]);
    return true;
  });
}

bool Unroller::nodes_at(const Nest& n, const Index& at, bool has, std::vector<std::uint32_t>& now) {
  now.clear();
  for (NestNode node : n.nodes) {
    std::uint32_t v = kNoNode;
    for (std::uint32_t& in : node.in)
      if (in != kNoNode) in = now[in];
    switch (node.kind) {
      case NestNodeKind::Load:
        v = is_picking(node) ? picked(node, n.accesses[node.access], at, has)
                             : element(n.accesses[node.access], at, has);
        break;
      case NestNodeKind::Iota:
        v = iota(node, n.accesses[node.access], at, has);
        break;
      case NestNodeKind::Constant:
        v = add(node);
        break;
      case NestNodeKind::Op:
        v = add(node);
    }
    if (v == kNoNode) return false;
    now.push_back(v);
  }
  return true;
}

std::uint32_t Unroller::iota(NestNode node, const Access& a, const Index& at, bool has) {
  if (lanes_.empty() && (node.dtype == DType::I64 || node.dtype == DType::I32)) {
    const std::int64_t v = offset(a, at);
    node.kind = NestNodeKind::Constant;
    node.bits = node.dtype == DType::I64 ? static_cast<std::uint64_t>(v) : static_cast<std::uint32_t>(v);
    return add(node);
  }
  node.access = static_cast<std::uint32_t>(out_.accesses.size());
  out_.accesses.push_back({0, node.dtype, offset(a, at), lane_strides(a, has)});
  return add(node);
}

std::uint32_t Unroller::element(const Access& a, const Index& at, bool has) {
  const PlanBase& b = low_.bases[a.base];
  Strides strides = lane_strides(a, has);
  const std::int64_t o = offset(a, at);
  if (b.kind == PlanBase::Kind::Param && !is_part_) return load(b.index, a.dtype, o, std::move(strides));
  if (b.kind == PlanBase::Kind::Const) {
    const std::uint32_t number = constant(b, a.dtype, o, strides);
    if (number != kNoNode) return number;
  }
  const auto written = values_.find(a.base);
  if (written == values_.end()) return is_part_ ? load(a.base, a.dtype, o, std::move(strides)) : kNoNode;
  const Elements& e = written->second;
  const auto it = e.nodes.find(o);
  return it == e.nodes.end() || e.lanes != strides || dtype(it->second) != a.dtype ? kNoNode : it->second;
}

std::uint32_t Unroller::load(std::uint32_t base, DType dtype, std::int64_t offset, Strides strides) {
  const auto [it, is_new] = loads_.try_emplace({base, offset, strides}, kNoNode);
  if (!is_new) return it->second;
  NestNode n;
  n.kind = NestNodeKind::Load;
  n.dtype = dtype;
  n.access = static_cast<std::uint32_t>(out_.accesses.size());
  out_.accesses.push_back({base, dtype, offset, std::move(strides)});
  return it->second = add(n);
}

// Elements of parameters only: all others are in registers.
std::uint32_t Unroller::picked(NestNode node, const Access& a, const Index& at, bool has) {
  const PlanBase& b = low_.bases[a.base];
  if (b.kind != PlanBase::Kind::Param) return kNoNode;
  node.access = static_cast<std::uint32_t>(out_.accesses.size());
  out_.accesses.push_back({b.index, a.dtype, offset(a, at), lane_strides(a, has)});
  return add(node);
}

std::uint32_t Unroller::constant(const PlanBase& b, DType dtype, std::int64_t offset, const Strides& strides) {
  const auto id = static_cast<ConstId>(b.index);
  const Constant& c = t_.consts[id];
  const bool is_one = std::ranges::all_of(strides, [](std::int64_t s) { return s == 0; });
  if (!is_one && !t_.consts.is_splat(id)) return kNoNode;
  const std::int64_t size = size_of(dtype), at = is_one ? offset * size : 0;
  if (size > 8 || at < 0 || at + size > static_cast<std::int64_t>(c.bytes.size())) return kNoNode;
  NestNode n;
  n.kind = NestNodeKind::Constant;
  n.dtype = dtype;
  std::memcpy(&n.bits, c.bytes.data() + at, static_cast<std::size_t>(size));
  return add(n);
}

void Unroller::store(const Access& to, const Index& at, bool has, std::uint32_t node) {
  const PlanBase& b = low_.bases[to.base];
  Strides strides = lane_strides(to, has);
  const std::int64_t o = offset(to, at);
  if (is_part_ && std::ranges::binary_search(kept_, to.base))
    out_.stores.push_back({node, {to.base, to.dtype, o, strides}});
  if (!is_part_ && b.kind == PlanBase::Kind::Result) result(b.index, to.dtype, o, strides, node);
  Elements& e = values_[to.base];
  e.lanes = std::move(strides);
  e.nodes[o] = node;
}

void Unroller::result(std::uint32_t r, DType dtype, std::int64_t offset, Strides strides, std::uint32_t node) {
  const auto base = static_cast<std::uint32_t>(plan_.params.size()) + r;
  out_.stores.push_back({node, {base, dtype, offset, std::move(strides)}});
}

// A result that is a parameter, element by element.
bool Unroller::passed(const PassedParam& p) {
  const ValueType& v = plan_.params[p.param];
  const Access all = row_major(0, v.dtype, v.dims);
  const bool has = has_lanes(v.dims);
  return for_points(v.dims, has, [&](const Index& at) {
    const std::int64_t o = offset(all, at);
    result(p.result, v.dtype, o, lane_strides(all, has), load(p.param, v.dtype, o, lane_strides(all, has)));
    return true;
  });
}

}  // namespace tfvm
