#include "jit/region/edit.h"

#include <algorithm>

namespace tfvm {

std::uint32_t add_access(Nest& n, const Access& a) {
  const auto it = std::ranges::find(n.accesses, a);
  if (it == n.accesses.end()) n.accesses.push_back(a);
  return static_cast<std::uint32_t>(std::ranges::find(n.accesses, a) - n.accesses.begin());
}

std::uint32_t add_node(Nest& n, const NestNode& node) {
  const auto it = std::ranges::find(n.nodes, node);
  if (it != n.nodes.end()) return static_cast<std::uint32_t>(it - n.nodes.begin());
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

void compact(Nest& n) {
  std::vector<std::uint8_t> used(n.nodes.size(), 0);
  for (const Store& s : n.stores) used[s.node] = 1;
  for (const Reduction& r : n.reductions) used[r.node] = 1;
  for (std::size_t k = n.nodes.size(); k-- > 0;)
    for (std::uint32_t in : n.nodes[k].in)
      if (used[k] && in != kNoNode) used[in] = 1;
  Nest out;
  out.extents = std::move(n.extents);
  out.reduced = std::move(n.reduced);
  std::vector<std::uint32_t> map(n.nodes.size(), kNoNode);
  for (std::size_t k = 0; k < n.nodes.size(); ++k) {
    if (!used[k]) continue;
    NestNode node = n.nodes[k];
    if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota)
      node.access = add_access(out, n.accesses[node.access]);
    for (std::uint32_t& in : node.in)
      if (in != kNoNode) in = map[in];
    map[k] = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back(node);
  }
  for (const Store& s : n.stores) out.stores.push_back({map[s.node], s.to});
  for (const Reduction& r : n.reductions) out.reductions.push_back({r.op, map[r.node], r.to});
  if (!out.has_reduction()) std::ranges::fill(out.reduced, std::uint8_t{0});
  n = std::move(out);
}

}  // namespace tfvm
