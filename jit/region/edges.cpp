#include "jit/region/edges.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "jit/region/edit.h"

namespace tfvm {

namespace {

constexpr std::size_t kMostCuts = 4;   // of a loop
constexpr std::size_t kMostParts = 9;  // of a nest
constexpr std::int64_t kNode = 60;     // picoseconds of a node in a vector

// A comparison of places with a constant: whether `place < bound`, or the opposite.
struct Side {
  const Access* place;
  std::int64_t bound;
  bool below;
};

std::optional<Side> side_of(const Nest& n, const NestNode& node) {
  if (node.kind != NestNodeKind::Op || node.dtype != DType::Bool || node.in[1] == kNoNode) return std::nullopt;
  const bool is_less = node.op == Op::lt || node.op == Op::le;
  if (!is_less && node.op != Op::ge && node.op != Op::gt) return std::nullopt;
  const NestNode &place = n.nodes[node.in[0]], &c = n.nodes[node.in[1]];
  if (place.kind != NestNodeKind::Iota || c.kind != NestNodeKind::Constant) return std::nullopt;
  if (c.dtype != DType::I32 && c.dtype != DType::I64) return std::nullopt;
  const std::int64_t v = c.dtype == DType::I32 ? static_cast<std::int32_t>(c.bits) : static_cast<std::int64_t>(c.bits);
  const bool is_moved = node.op == Op::le || node.op == Op::gt;
  if (is_moved && v == INT64_MAX) return std::nullopt;
  return Side{&n.accesses[place.access], v + is_moved, is_less};
}

// What it is at all points, if that is one.
std::optional<bool> known(const Nest& n, const Side& s) {
  std::int64_t least = s.place->offset, most = least;
  for (std::size_t d = 0; d < n.extents.size(); ++d) {
    const std::int64_t last = s.place->strides[d] * (n.extents[d] - 1);
    (last < 0 ? least : most) += last;
  }
  if (most < s.bound) return s.below;
  if (least >= s.bound) return !s.below;
  return std::nullopt;
}

// Where comparisons of loop d alone change, in order.
std::vector<std::int64_t> cuts_of(const Nest& n, std::size_t d) {
  std::vector<std::int64_t> cuts;
  for (const NestNode& node : n.nodes) {
    const std::optional<Side> s = side_of(n, node);
    if (!s || s->place->strides[d] != 1) continue;
    if (std::ranges::count(s->place->strides, 0) + 1 != std::ssize(s->place->strides)) continue;
    const std::int64_t at = s->bound - s->place->offset;
    if (at > 0 && at < n.extents[d] && std::ranges::find(cuts, at) == cuts.end()) cuts.push_back(at);
  }
  std::ranges::sort(cuts);
  return cuts;
}

// What each node is where a mask, or what is chosen by one, is known.
class Folder {
 public:
  explicit Folder(Nest& n) : n_(n), is_(n.nodes.size()), known_(n.nodes.size()) {}

  void run() {
    for (std::uint32_t k = 0; k < n_.nodes.size(); ++k) {
      NestNode& node = n_.nodes[k];
      is_[k] = k;
      for (std::uint32_t& in : node.in)
        if (in != kNoNode) in = is_[in];
      if (node.kind == NestNodeKind::Load && node.in[0] != kNoNode) load(node);
      if (node.kind == NestNodeKind::Op) op(k, node);
    }
    for (Store& s : n_.stores) s.node = is_[s.node];
    for (Reduction& r : n_.reductions) r.node = is_[r.node];
    compact(n_);
  }

 private:
  void load(NestNode& node) const {
    const std::optional<bool> m = known_[node.in[0]];
    if (!m) return;
    if (*m) {
      node.in[0] = kNoNode;
    } else {
      NestNode zero;
      zero.kind = NestNodeKind::Constant;
      zero.dtype = node.dtype;
      zero.source = node.source;
      node = zero;
    }
  }
  void op(std::uint32_t k, const NestNode& node) {
    if (const auto s = side_of(n_, node)) {
      known_[k] = known(n_, *s);
    } else if (node.op == Op::select) {
      if (const auto m = known_[node.in[0]]) take(k, node.in[*m ? 1 : 2]);
    } else if ((node.op == Op::and_ || node.op == Op::or_) && node.dtype == DType::Bool) {
      const bool decides = node.op == Op::or_;
      for (std::size_t j = 0; j < 2; ++j)
        if (const auto m = known_[node.in[j]])
          return *m == decides ? void(known_[k] = decides) : take(k, node.in[1 - j]);
    }
  }
  void take(std::uint32_t k, std::uint32_t other) {
    is_[k] = other;
    known_[k] = known_[other];
  }

  Nest& n_;
  std::vector<std::uint32_t> is_;
  std::vector<std::optional<bool>> known_;
};

// Places [from, to) of loop d.
Nest part_of(const Nest& n, std::size_t d, std::int64_t from, std::int64_t to) {
  Nest part = n;
  part.extents[d] = to - from;
  const auto move = [&](Access& a) { a.offset += from * a.strides[d]; };
  std::ranges::for_each(part.accesses, move);
  for (Store& s : part.stores) move(s.to);
  for (Reduction& r : part.reductions) move(r.to);
  Folder(part).run();
  return part;
}

// A loop of one place is none, so that a reduced one before it may come to be at the end: sums would have another
// order.
bool keeps_rows(const Nest& n, std::size_t d, const std::vector<std::int64_t>& ends) {
  if (!n.has_reduction()) return true;
  std::vector<std::size_t> order(n.extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> extents = n.extents;
  const std::vector<std::size_t> row = row_of(extents, n.reduced, order);
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    extents[d] = ends[k + 1] - ends[k];
    if (row_of(extents, n.reduced, order) != row) return false;
  }
  return true;
}

// Adds the parts; gives the number of the one with the most places.
std::size_t cut(Nest n, std::size_t d, std::vector<Nest>& parts) {
  for (; d < n.extents.size(); ++d) {
    if (n.reduced[d]) continue;
    std::vector<std::int64_t> cuts = cuts_of(n, d);
    if (cuts.empty() || cuts.size() > kMostCuts) continue;
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(n.extents[d]);
    if (!keeps_rows(n, d, cuts)) continue;
    std::size_t longest = 0;
    for (std::size_t k = 1; k + 1 < cuts.size(); ++k)
      if (cuts[k + 1] - cuts[k] > cuts[longest + 1] - cuts[longest]) longest = k;
    std::size_t main = 0;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      Nest part = part_of(n, d, cuts[k], cuts[k + 1]);
      if (k == longest) {
        main = cut(std::move(part), d + 1, parts);
      } else {
        parts.push_back(std::move(part));
      }
    }
    return main;
  }
  parts.push_back(std::move(n));
  return parts.size() - 1;
}

}  // namespace

std::vector<Nest> cut_at_edges(Nest n, std::int64_t per_nest) {
  if (points(n) > 0 &&
      std::ranges::any_of(n.nodes, [&](const NestNode& node) { return side_of(n, node).has_value(); })) {
    std::vector<Nest> parts;
    const std::size_t main = cut(n, 0, parts);
    const auto fewer = std::ssize(n.nodes) - std::ssize(parts[main].nodes);
    if (parts.size() > 1 && parts.size() <= kMostParts &&
        fewer * kNode * points(parts[main]) >= per_nest * (std::ssize(parts) - 1))
      return parts;
  }
  std::vector<Nest> alone;
  alone.push_back(std::move(n));
  return alone;
}

}  // namespace tfvm
