#include "jit/region/small_loops.h"

#include <algorithm>
#include <optional>

#include "jit/region/code.h"
#include "jit/region/edit.h"
#include "jit/region/recompute.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMostRounds = 4, kLeastPoints = 4096;
constexpr std::size_t kMaxNodes = 160, kMaxAccesses = 48;

// Does a node change along a loop?
std::vector<std::uint8_t> changing(const Nest& n, std::size_t loop) {
  std::vector<std::uint8_t> changes(n.nodes.size(), 0);
  for (std::size_t k = 0; k < n.nodes.size(); ++k) {
    const NestNode& node = n.nodes[k];
    if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota)
      changes[k] = n.accesses[node.access].strides[loop] != 0;
    for (std::uint32_t in : node.in) changes[k] = changes[k] || (in != kNoNode && changes[in]);
  }
  return changes;
}

// Worth it: what is shared is more than what is not.
bool is_shared(const Nest& n, const std::vector<std::uint8_t>& changes) {
  int same = 0, other = 0;
  for (std::size_t k = 0; k < n.nodes.size(); ++k) (changes[k] ? other : same) += cost(n.nodes[k]);
  return same >= 8 && same > other;
}

// The other loops in an order that leaves all sums as they are.
std::optional<std::vector<std::size_t>> order_without(const Nest& n, std::size_t loop) {
  std::vector<std::size_t> all, rest;
  for (std::size_t d = 0; d < n.extents.size(); ++d) {
    all.push_back(d);
    if (d != loop) rest.push_back(d);
  }
  const std::vector<std::size_t> row = row_of(n.extents, n.reduced, all);
  if (row_of(n.extents, n.reduced, rest) == row) return rest;
  if (!row.empty()) return std::nullopt;
  for (std::size_t k = rest.size(); k-- > 0;) {
    if (n.reduced[rest[k]] || n.extents[rest[k]] == 1) continue;
    std::rotate(rest.begin() + static_cast<std::ptrdiff_t>(k), rest.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                rest.end());
    return rest;
  }
  return std::nullopt;
}

class Unrolled {
 public:
  Unrolled(const Nest& n, std::size_t loop, std::vector<std::size_t> order)
      : n_(n), loop_(loop), order_(std::move(order)), changes_(changing(n, loop)) {
    for (std::size_t d : order_) {
      out_.extents.push_back(n.extents[d]);
      out_.reduced.push_back(n.reduced[d]);
    }
  }

  std::optional<Nest> run() {
    std::vector<std::uint32_t> map(n_.nodes.size(), kNoNode);
    for (std::int64_t round = 0; round < n_.extents[loop_]; ++round) {
      for (std::size_t k = 0; k < n_.nodes.size(); ++k)
        if (round == 0 || changes_[k]) map[k] = copy(n_.nodes[k], map, round);
      for (const Reduction& r : n_.reductions)
        out_.reductions.push_back({r.op, map[r.node], at(r.to, round), r.source});
    }
    if (out_.nodes.size() > kMaxNodes || out_.accesses.size() > kMaxAccesses) return std::nullopt;
    return std::move(out_);
  }

 private:
  Access at(const Access& a, std::int64_t round) const {
    Access to{a.base, a.dtype, a.offset + a.strides[loop_] * round, {}};
    for (std::size_t d : order_) to.strides.push_back(a.strides[d]);
    return to;
  }
  std::uint32_t copy(NestNode node, const std::vector<std::uint32_t>& map, std::int64_t round) {
    if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota)
      node.access = add_access(out_, at(n_.accesses[node.access], round));
    for (std::uint32_t& in : node.in)
      if (in != kNoNode) in = map[in];
    return add_node(out_, node);
  }

  const Nest& n_;
  const std::size_t loop_;
  const std::vector<std::size_t> order_;
  const std::vector<std::uint8_t> changes_;
  Nest out_;
};

}  // namespace

bool unroll_small_loop(Nest& n) {
  std::int64_t points = 1;
  for (std::int64_t e : n.extents) points *= e;
  if (!n.has_reduction() || !n.stores.empty() || points < kLeastPoints) return false;
  for (std::size_t d = 0; d < n.extents.size(); ++d) {
    const std::int64_t rounds = n.extents[d];
    if (n.reduced[d] || rounds < 2 || rounds > kMostRounds) continue;
    if (n.reductions.size() * static_cast<std::size_t>(rounds) > kMaxReductions) continue;
    if (!is_shared(n, changing(n, d))) continue;
    std::optional<std::vector<std::size_t>> order = order_without(n, d);
    if (!order) continue;
    std::optional<Nest> less = Unrolled(n, d, *std::move(order)).run();
    if (less) n = *std::move(less);
    return less.has_value();
  }
  return false;
}

}  // namespace tfvm
