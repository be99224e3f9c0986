#include "jit/region/edit.h"

#include <algorithm>
#include <utility>

namespace tfvm {

std::uint32_t add_access(Nest& n, const Access& a) {
  const auto it = std::ranges::find(n.accesses, a);
  if (it == n.accesses.end()) n.accesses.push_back(a);
  return static_cast<std::uint32_t>(std::ranges::find(n.accesses, a) - n.accesses.begin());
}

namespace {

bool commutes(const NestNode& n, DType from) {
  if (n.kind != NestNodeKind::Op || is_complex(from)) return false;
  return n.op == Op::add || n.op == Op::mul || n.op == Op::zmul || n.op == Op::eq || n.op == Op::ne;
}

// Ops that give the same for x and -x.
bool is_even(const NestNode& n) {
  if (n.kind != NestNodeKind::Op) return false;
  if (n.op == Op::square || n.op == Op::abs) return true;
  return (n.op == Op::mul || n.op == Op::fma || n.op == Op::zfma) && n.in[0] == n.in[1] && n.in[0] != n.in[2];
}

std::uint32_t find_node(const Nest& n, const NestNode& node) {
  const auto at = std::ranges::find(n.nodes, node);
  return at == n.nodes.end() ? kNoNode : static_cast<std::uint32_t>(at - n.nodes.begin());
}

// An even op of a - b where b - a is there before: the op of that.
NestNode of_earlier_difference(const Nest& n, NestNode node) {
  if (!is_even(node)) return node;
  NestNode difference = n.nodes[node.in[0]];
  if (difference.kind != NestNodeKind::Op || difference.op != Op::sub || !is_float(difference.dtype)) return node;
  std::swap(difference.in[0], difference.in[1]);
  const std::uint32_t at = find_node(n, difference);
  if (at >= node.in[0]) return node;
  if (node.in[1] == node.in[0]) node.in[1] = at;
  node.in[0] = at;
  return node;
}

}  // namespace

std::uint32_t add_node(Nest& n, const NestNode& given) {
  const NestNode node = of_earlier_difference(n, given);
  if (const std::uint32_t at = find_node(n, node); at != kNoNode) return at;
  if (NestNode other = node; node.in[0] != kNoNode && commutes(node, n.nodes[node.in[0]].dtype)) {
    std::swap(other.in[0], other.in[1]);
    if (const std::uint32_t at = find_node(n, other); at != kNoNode) return at;
  }
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

std::int64_t points(const Nest& n) {
  std::int64_t p = 1;
  for (std::int64_t e : n.extents) p *= e;
  return p;
}

std::int64_t touched(const Nest& n, const Access& a) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < n.extents.size(); ++d) elements *= a.strides[d] == 0 ? 1 : n.extents[d];
  return elements;
}

bool is_row_major(const Nest& n, const Access& a) {
  std::int64_t expected = 1;
  for (std::size_t d = n.extents.size(); d-- > 0; expected *= n.extents[d])
    if (n.extents[d] != 1 && a.strides[d] != expected) return false;
  return true;
}

std::vector<std::size_t> row_of(std::span<const std::int64_t> extents, std::span<const std::uint8_t> reduced,
                                std::span<const std::size_t> order) {
  std::vector<std::size_t> row;
  for (std::size_t k = order.size(); k-- > 0;) {
    if (extents[order[k]] == 1) continue;
    if (!reduced[order[k]]) break;
    row.push_back(order[k]);
  }
  return row;
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
  for (const Reduction& r : n.reductions) out.reductions.push_back({r.op, map[r.node], r.to, r.source});
  if (!out.has_reduction()) std::ranges::fill(out.reduced, std::uint8_t{0});
  n = std::move(out);
}

}  // namespace tfvm
