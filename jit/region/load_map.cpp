#include "jit/region/load_map.h"

#include <algorithm>

namespace tfvm {

namespace {

// The points of a nest where a mask may hold: from `first` to `last` along each loop.
struct Box {
  std::vector<std::int64_t> first, last;
};

// Compares a loop's index with a constant, as the masks of pads do.
void narrow(const Nest& nest, std::uint32_t mask, Box& box) {
  const NestNode& n = nest.nodes[mask];
  if (n.kind != NestNodeKind::Op) return;
  if (n.op == Op::and_) return narrow(nest, n.in[0], box), narrow(nest, n.in[1], box);
  if (n.op != Op::ge && n.op != Op::lt) return;
  const NestNode &index = nest.nodes[n.in[0]], &bound = nest.nodes[n.in[1]];
  if (index.kind != NestNodeKind::Iota || index.dtype != DType::I32 || bound.kind != NestNodeKind::Constant) return;
  const Access& a = nest.accesses[index.access];
  const auto is_going = [](std::int64_t s) { return s != 0; };
  const auto loop = std::ranges::find_if(a.strides, is_going);
  if (loop == a.strides.end() || *loop != 1 || std::find_if(loop + 1, a.strides.end(), is_going) != a.strides.end())
    return;
  const auto l = static_cast<std::size_t>(loop - a.strides.begin());
  const std::int64_t at = static_cast<std::int32_t>(bound.bits) - a.offset;
  if (n.op == Op::ge)
    box.first[l] = std::max(box.first[l], at);
  else
    box.last[l] = std::min(box.last[l], at - 1);
}

// `elements` as places of the value's loops, of which each goes over whole rounds of those inside it.
bool digits(const Nest& value, std::int64_t elements, std::vector<std::int64_t>& out) {
  const Access& to = value.stores[0].to;
  out.assign(value.extents.size(), 0);
  for (std::size_t v = 0; v < out.size(); ++v) {
    if (value.extents[v] == 1) continue;
    out[v] = elements / to.strides[v];
    elements %= to.strides[v];
  }
  return elements == 0;
}

}  // namespace

std::optional<LoadMap> map_load(const Nest& nest, const NestNode& load, const Nest& value) {
  const Access& to = value.stores[0].to;
  const Access& a = nest.accesses[load.access];
  Box box{std::vector<std::int64_t>(nest.extents.size(), 0), nest.extents};
  for (std::int64_t& last : box.last) --last;
  if (load.in[0] != kNoNode) narrow(nest, load.in[0], box);
  LoadMap m;
  std::int64_t corner = a.offset - to.offset;
  for (std::size_t l = 0; l < box.first.size(); ++l) {
    if (box.first[l] > box.last[l]) return std::nullopt;
    corner += box.first[l] * a.strides[l];
  }
  if (a.dtype != to.dtype || corner < 0 || !digits(value, corner, m.offset)) return std::nullopt;
  std::vector<std::int64_t> least = m.offset, most = m.offset;
  for (std::size_t l = 0; l < nest.extents.size(); ++l) {
    const std::int64_t s = nest.extents[l] == 1 ? 0 : a.strides[l];
    std::vector<std::int64_t> by;
    if (!digits(value, std::abs(s), by)) return std::nullopt;
    for (std::size_t v = 0; v < by.size(); ++v) {
      if (s < 0) by[v] = -by[v];
      (by[v] < 0 ? least : most)[v] += by[v] * (box.last[l] - box.first[l]);
      m.offset[v] -= by[v] * box.first[l];
    }
    m.strides.push_back(std::move(by));
  }
  for (std::size_t v = 0; v < least.size(); ++v)
    if (least[v] < 0 || most[v] >= value.extents[v]) return std::nullopt;
  return m;
}

Access moved(const Access& a, const LoadMap& m) {
  Access to{a.base, a.dtype, a.offset, {}};
  for (std::size_t v = 0; v < m.offset.size(); ++v) to.offset += a.strides[v] * m.offset[v];
  for (const auto& by : m.strides) {
    std::int64_t s = 0;
    for (std::size_t v = 0; v < by.size(); ++v) s += a.strides[v] * by[v];
    to.strides.push_back(s);
  }
  return to;
}

}  // namespace tfvm
