#include "jit/x86/loose.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "jit/region/reduce.h"

namespace tfvm::x86 {

namespace {

constexpr std::int64_t kMaxPoints = 16;
constexpr std::size_t kMaxNodes = 256, kMaxAccesses = 64, kMaxStores = 64;
constexpr std::int64_t kMaxBakedStride = 64;  // elements; farther copies have a pointer of their own

class Unroller {
 public:
  Unroller(LooseNest& n, std::size_t first, std::size_t last) : n_(n), first_(first), last_(last) {
    for (std::size_t d = first; d < last; ++d) points_ *= n.loops[d].extent;
    nodes_.swap(n.nodes);
    stores_.swap(n.stores);
    reductions_.swap(n.reductions);
    old_accesses_ = n.accesses;
    for (AccessCode& a : n.accesses) a.strides.erase(at(a.strides, first), at(a.strides, last));
  }

  void run() {
    find_dependent();
    map_.assign(nodes_.size(), kNoNode);
    values_.resize(reductions_.size());
    for (point_ = 0; point_ < points_; ++point_) {
      for (std::uint32_t k = 0; k < nodes_.size(); ++k)
        if (point_ == 0 || dependent_[k]) map_[k] = copy(nodes_[k]);
      for (const ShapeStore& s : stores_)
        n_.stores.push_back(moved(ShapeStore{map_[s.node], s.access, s.displacement}));
      for (std::size_t k = 0; k < reductions_.size(); ++k) values_[k].push_back(map_[reductions_[k].node]);
      if (n_.loops[first_].role == LoopRole::Kept)
        for (const ShapeReduction& r : reductions_)
          n_.reductions.push_back(moved(ShapeReduction{r.op, map_[r.node], r.access, r.displacement, r.source}));
    }
    if (n_.loops[first_].role != LoopRole::Kept) combine();
    n_.loops.erase(at(n_.loops, first_), at(n_.loops, last_));
  }

 private:
  template <class T>
  static typename std::vector<T>::iterator at(std::vector<T>& v, std::size_t k) {
    return v.begin() + static_cast<std::ptrdiff_t>(k);
  }

  bool moves(std::uint32_t access) const {
    const auto& s = old_accesses_[access].strides;
    for (std::size_t d = first_; d < last_; ++d)
      if (s[d] != 0) return true;
    return false;
  }

  void find_dependent() {
    dependent_.assign(nodes_.size(), 0);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const NestNode& n = nodes_[k];
      if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota) dependent_[k] = moves(n.access);
      for (std::uint32_t in : n.in) dependent_[k] = dependent_[k] || (in != kNoNode && dependent_[in]);
    }
  }

  // Elements from the first point to the present one.
  std::int64_t distance(std::uint32_t access) const {
    std::int64_t rest = point_, sum = 0;
    for (std::size_t d = last_; d-- > first_;) {
      sum += rest % n_.loops[d].extent * old_accesses_[access].strides[d];
      rest /= n_.loops[d].extent;
    }
    return sum;
  }

  // The access of the present point, and how many bytes are added to it.
  std::pair<std::uint32_t, std::int64_t> place(std::uint32_t access, bool is_iota) {
    const auto& s = old_accesses_[access].strides;
    const std::int64_t d = distance(access);
    const bool near =
        std::all_of(s.begin() + static_cast<std::ptrdiff_t>(first_), s.begin() + static_cast<std::ptrdiff_t>(last_),
                    [](std::int64_t x) { return std::abs(x) <= kMaxBakedStride; });
    if (d == 0 || (near && !is_iota)) return {access, d * old_accesses_[access].size};
    AccessCode far = n_.accesses[access];
    far.offset += d;
    n_.accesses.push_back(std::move(far));
    return {static_cast<std::uint32_t>(n_.accesses.size() - 1), 0};
  }

  std::uint32_t add(const NestNode& n) {
    n_.nodes.push_back(n);
    return static_cast<std::uint32_t>(n_.nodes.size() - 1);
  }

  std::uint32_t copy(NestNode n) {
    if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota) {
      const auto [access, bytes] = place(n.access, n.kind == NestNodeKind::Iota);
      n.access = access;
      n.bits += static_cast<std::uint64_t>(bytes);
    }
    for (std::uint32_t& in : n.in)
      if (in != kNoNode) in = map_[in];
    return add(n);
  }

  template <class End>
  End moved(End e) {
    const auto [access, bytes] = place(e.access, false);
    e.access = access;
    e.displacement += static_cast<std::int32_t>(bytes);
    return e;
  }

  // A row folds in halves; rows follow each other.
  void combine() {
    const bool is_row = n_.loops[first_].role == LoopRole::Row;
    for (std::size_t k = 0; k < reductions_.size(); ++k) {
      std::vector<std::uint32_t>& v = values_[k];
      const auto join = [&](std::size_t a, std::size_t b) {
        NestNode n;
        n.op = combining(reductions_[k].op);
        n.dtype = n_.nodes[v[a]].dtype;
        n.in = {v[a], v[b], kNoNode};
        v[a] = add(n);
      };
      if (is_row) {
        for (std::size_t w = std::bit_ceil(v.size()) / 2; w > 0; w /= 2)
          for (std::size_t j = 0; j < w && j + w < v.size(); ++j) join(j, j + w);
      } else {
        for (std::size_t j = 1; j < v.size(); ++j) join(0, j);
      }
      ShapeReduction r = reductions_[k];
      r.node = v[0];
      n_.reductions.push_back(r);
    }
  }

  LooseNest& n_;
  const std::size_t first_, last_;
  std::int64_t points_ = 1, point_ = 0;
  std::vector<NestNode> nodes_;
  std::vector<ShapeStore> stores_;
  std::vector<ShapeReduction> reductions_;
  std::vector<AccessCode> old_accesses_;
  std::vector<std::uint8_t> dependent_;
  std::vector<std::uint32_t> map_;
  std::vector<std::vector<std::uint32_t>> values_;  // of reductions, a node for each point
};

}  // namespace

std::size_t LooseNest::count(LoopRole role) const {
  return static_cast<std::size_t>(std::ranges::count(loops, role, &LooseLoop::role));
}

std::int64_t LooseNest::points(LoopRole role) const {
  std::int64_t n = 1;
  for (const LooseLoop& l : loops) n *= l.role == role ? l.extent : 1;
  return n;
}

LooseNest loosen(const Nest& nest, const NestCode& planned) {
  LooseNest n;
  const std::size_t loops = planned.extents.size();
  std::size_t inner = loops;
  if (planned.mode == NestMode::Rows) {
    for (std::int64_t row = 1; row != planned.row;) row *= planned.extents[--inner];
  } else {
    inner = planned.kept + planned.reduced;
  }
  const LoopRole innermost = planned.mode == NestMode::Rows ? LoopRole::Row : LoopRole::Kept;
  for (std::size_t d = 0; d < loops; ++d)
    n.loops.push_back({planned.extents[d], d < planned.kept ? LoopRole::Kept : d < inner ? LoopRole::Rows : innermost});
  n.accesses = planned.accesses;
  n.nodes = nest.nodes;
  for (NestNode& node : n.nodes)
    if (node.kind == NestNodeKind::Load) node.bits = 0;
  auto at = static_cast<std::uint32_t>(nest.accesses.size());
  for (const Store& s : nest.stores) n.stores.push_back({s.node, at++});
  for (const Reduction& r : nest.reductions) n.reductions.push_back({r.op, r.node, at++, 0, r.source});
  return n;
}

bool can_unroll(const LooseNest& n, std::size_t first, std::size_t last) {
  std::int64_t points = 1;
  for (std::size_t d = first; d < last; ++d) points *= n.loops[d].extent;
  if (first == last || points > kMaxPoints) return false;
  const auto times = static_cast<std::size_t>(points);
  return n.nodes.size() * times <= kMaxNodes && n.accesses.size() * times <= kMaxAccesses &&
         n.stores.size() * times <= kMaxStores &&
         (n.loops[first].role != LoopRole::Kept || n.reductions.size() * times <= kMaxReductions);
}

void unroll(LooseNest& n, std::size_t first, std::size_t last) { Unroller(n, first, last).run(); }

void settle(LooseNest& n) {
  if (n.count(LoopRole::Rows) + n.count(LoopRole::Row) > 0) return;
  for (const ShapeReduction& r : n.reductions) n.stores.push_back({r.node, r.access, r.displacement});
  n.reductions.clear();
}

}  // namespace tfvm::x86
