#include "jit/region/share.h"

#include <algorithm>
#include <utility>

#include "jit/region/build.h"
#include "jit/region/edit.h"
#include "jit/region/recompute.h"

namespace tfvm {

namespace {

constexpr std::size_t kWindow = 16;                         // items between the two
constexpr std::int64_t kLeastPoints = 4096;                 // of loops that are worth it
constexpr std::int64_t kMostBytes = std::int64_t{1} << 24;  // of a value: what the caches hold
constexpr int kThroughMemory = 4;                           // a store and a load, in additions of a vector
constexpr int kLeastSaved = 6;

// Loops that a node changes along, as bits.
std::vector<std::uint64_t> loops_of(const Nest& n) {
  std::vector<std::uint64_t> loops(n.nodes.size(), 0);
  for (std::size_t k = 0; k < n.nodes.size(); ++k) {
    const NestNode& node = n.nodes[k];
    if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota)
      for (std::size_t d = 0; d < n.extents.size(); ++d)
        if (n.extents[d] != 1 && n.accesses[node.access].strides[d] != 0) loops[k] |= std::uint64_t{1} << d;
    for (std::uint32_t in : node.in)
      if (in != kNoNode) loops[k] |= loops[in];
  }
  return loops;
}

std::uint64_t all_loops(const Nest& n) {
  std::uint64_t all = 0;
  for (std::size_t d = 0; d < n.extents.size(); ++d)
    if (n.extents[d] != 1) all |= std::uint64_t{1} << d;
  return all;
}

// In additions of a vector. The divider is busy for as long as many of them, though others are made meanwhile.
int time_of(const NestNode& n) {
  constexpr int kDivider = 6;
  if (n.kind != NestNodeKind::Op) return 0;
  const int passes = n.op == Op::rsqrt ? 2 : n.op == Op::div || n.op == Op::reciprocal || n.op == Op::sqrt ? 1 : 0;
  return cost(n) + passes * kDivider;
}

// What a node costs at each point.
std::vector<int> costs_of(const Nest& n) {
  const std::vector<std::uint64_t> loops = loops_of(n);
  std::vector<int> costs(n.nodes.size());
  for (std::size_t k = 0; k < costs.size(); ++k) costs[k] = loops[k] == all_loops(n) ? time_of(n.nodes[k]) : 0;
  return costs;
}

// A node of another nest over the same loops; `map`, of that one's nodes.
std::uint32_t add_mapped(Nest& to, const Nest& from, NestNode node, const std::vector<std::uint32_t>& map) {
  if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota)
    node.access = add_access(to, from.accesses[node.access]);
  for (std::uint32_t& in : node.in)
    if (in != kNoNode) in = map[in];
  return add_node(to, node);
}

// Adds what a node needs of another nest over the same loops, and it.
std::uint32_t add_value(Nest& to, const Nest& from, std::uint32_t value) {
  std::vector<std::uint8_t> needed(value + 1, 0);
  needed[value] = 1;
  for (std::uint32_t k = value + 1; k-- > 0;)
    for (std::uint32_t in : from.nodes[k].in)
      if (needed[k] && in != kNoNode) needed[in] = 1;
  std::vector<std::uint32_t> map;
  for (std::uint32_t k = 0; k <= value; ++k)
    map.push_back(needed[k] ? add_mapped(to, from, from.nodes[k], map) : kNoNode);
  return map[value];
}

// The nest with a load in place of a node.
Nest with_load(Nest n, std::uint32_t value, const Access& from) {
  NestNode load;
  load.kind = NestNodeKind::Load;
  load.dtype = n.nodes[value].dtype;
  load.access = add_access(n, from);
  n.nodes[value] = load;
  compact(n);
  return n;
}

int sum(const std::vector<int>& costs) {
  int s = 0;
  for (int c : costs) s += c;
  return s;
}

struct Choice {
  std::uint32_t value = kNoNode;  // a node of the reader
  int saved = 0;                  // additions at each point
};

bool may_be_stored(const NestNode& n) {
  return n.kind == NestNodeKind::Op && n.dtype != DType::Bool && !is_complex(n.dtype) && size_of(n.dtype) >= 4;
}

// What both compute.
int common_cost(const Nest& a, const Nest& b) {
  Nest both = a;
  std::vector<std::uint32_t> map;
  for (const NestNode& node : b.nodes) map.push_back(add_mapped(both, b, node, map));
  return sum(costs_of(a)) + sum(costs_of(b)) - sum(costs_of(both));
}

// `is_late`, of the reader's nodes: what the maker can't have in time.
Choice choose(const Nest& maker, const Nest& reader, const std::vector<std::uint8_t>& is_late,
              const FuseOptions& options) {
  const std::vector<std::uint64_t> loops = loops_of(reader);
  const int apart = sum(costs_of(maker)) + sum(costs_of(reader));
  Choice best;
  for (std::uint32_t k = 0; k < reader.nodes.size(); ++k) {
    const NestNode& n = reader.nodes[k];
    if (is_late[k] || !may_be_stored(n) || loops[k] != all_loops(reader)) continue;
    if (points(reader) * size_of(n.dtype) > kMostBytes) continue;
    Nest made = maker;
    add_value(made, reader, k);
    if (made.nodes.size() > options.max_nodes || made.accesses.size() > options.max_accesses) continue;
    const Nest rest = with_load(reader, k, row_major(0, n.dtype, reader.extents));
    const int saved = apart - sum(costs_of(made)) - sum(costs_of(rest)) - kThroughMemory;
    if (saved > best.saved) best = {k, saved};
  }
  return best.saved >= kLeastSaved ? best : Choice{};
}

class Sharing {
 public:
  Sharing(std::vector<FuseItem>& items, std::uint32_t bases, const FuseOptions& options)
      : items_(items), first_base_(bases), options_(options) {}

  std::vector<std::int64_t> run() {
    find_writers();
    find_pairs();
    if (pairs_.empty()) return {};
    std::ranges::stable_sort(pairs_, std::ranges::greater{}, &Pair::saved);
    std::vector<std::uint8_t> makes(items_.size(), 0), reads(items_.size(), 0);
    for (const Pair& p : pairs_)
      if (!reads[p.maker] && !makes[p.reader] && !reads[p.reader] && apply(p)) makes[p.maker] = reads[p.reader] = 1;
    std::vector<FuseItem> ordered;
    for (std::uint32_t k : order_) ordered.push_back(std::move(items_[k]));
    items_ = std::move(ordered);
    return std::move(bytes_);
  }

 private:
  struct Pair {
    std::uint32_t maker = 0, reader = 0;  // items
    int saved = 0;
  };

  bool is_candidate(const FuseItem& i) const {
    if (!i.nest || !i.nest->has_reduction()) return false;
    const std::int64_t p = points(*i.nest);
    return p >= kLeastPoints && p * 4 <= kMostBytes;
  }

  void find_pairs() {
    std::vector<std::uint32_t> recent;
    for (std::uint32_t k = 0; k < items_.size(); ++k) {
      if (!is_candidate(items_[k])) continue;
      for (std::uint32_t other : recent) {
        const Nest &a = *items_[other].nest, &b = *items_[k].nest;
        if (k - other > kWindow || a.extents != b.extents) continue;
        if (common_cost(a, b) < kLeastSaved + kThroughMemory) continue;
        add_pair(other, k);
        add_pair(k, other);
      }
      recent.push_back(k);
    }
  }

  void add_pair(std::uint32_t maker, std::uint32_t reader) {
    if (const Choice c = choose(maker, reader); c.value != kNoNode) pairs_.push_back({maker, reader, c.saved});
  }

  void find_writers() {
    writer_.assign(first_base_, kNoNode);
    for (std::uint32_t k = 0; k < items_.size(); ++k) {
      order_.push_back(k);
      place_.push_back(k);
      for (std::uint32_t b : items_[k].writes) writer_[b] = k;
      if (!items_[k].nest) continue;
      for (const Store& st : items_[k].nest->stores) writer_[st.to.base] = k;
      for (const Reduction& r : items_[k].nest->reductions) writer_[r.to.base] = k;
    }
  }

  // Nodes for which something is loaded that is not there before the item at this place.
  std::vector<std::uint8_t> late(const Nest& n, std::uint32_t place) const {
    std::vector<std::uint8_t> is_late(n.nodes.size(), 0);
    for (std::size_t k = 0; k < n.nodes.size(); ++k) {
      const NestNode& node = n.nodes[k];
      const std::uint32_t w = node.kind == NestNodeKind::Load ? writer_[n.accesses[node.access].base] : kNoNode;
      is_late[k] = w != kNoNode && place_[w] >= place;
      for (std::uint32_t in : node.in) is_late[k] = is_late[k] || (in != kNoNode && is_late[in]);
    }
    return is_late;
  }

  // The maker comes before the reader.
  std::uint32_t place_to_make(std::uint32_t maker, std::uint32_t reader) const {
    return std::min(place_[maker], place_[reader]);
  }

  Choice choose(std::uint32_t maker, std::uint32_t reader) const {
    const Nest &m = *items_[maker].nest, &r = *items_[reader].nest;
    const std::uint32_t place = place_to_make(maker, reader);
    if (m.stores.size() >= options_.max_stores || std::ranges::count(late(m, place), 1) > 0) return {};
    return tfvm::choose(m, r, late(r, place), options_);
  }

  void move(std::uint32_t item, std::uint32_t to) {
    const auto begin = order_.begin() + to, at = order_.begin() + place_[item];
    std::rotate(begin, at, at + 1);
    for (std::uint32_t k = to; k < order_.size(); ++k) place_[order_[k]] = k;
  }

  // As the nests are now: the maker may have values of other readers.
  bool apply(const Pair& p) {
    Nest made = *items_[p.maker].nest;
    const Nest& reader = *items_[p.reader].nest;
    const Choice c = choose(p.maker, p.reader);
    if (c.value == kNoNode || (options_.gate && !options_.gate->may_merge())) return false;
    const DType dtype = reader.nodes[c.value].dtype;
    const Access value = row_major(first_base_ + static_cast<std::uint32_t>(bytes_.size()), dtype, reader.extents);
    made.stores.push_back({add_value(made, reader, c.value), value});
    move(p.maker, place_to_make(p.maker, p.reader));
    items_[p.reader].nest = with_load(reader, c.value, value);
    items_[p.maker].nest = std::move(made);
    if (options_.gate) options_.gate->merged(*items_[p.maker].nest);
    bytes_.push_back(points(*items_[p.maker].nest) * size_of(dtype));
    writer_.push_back(p.maker);
    return true;
  }

  std::vector<FuseItem>& items_;
  const std::uint32_t first_base_;
  const FuseOptions& options_;
  std::vector<Pair> pairs_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::uint32_t> order_;   // of items
  std::vector<std::uint32_t> place_;   // of each item in it
  std::vector<std::uint32_t> writer_;  // per base: the item that writes it
};

}  // namespace

std::vector<std::int64_t> share(std::vector<FuseItem>& items, std::uint32_t bases, const FuseOptions& options) {
  return Sharing(items, bases, options).run();
}

}  // namespace tfvm
