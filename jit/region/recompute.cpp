#include "jit/region/recompute.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "jit/region/edit.h"
#include "jit/region/load_map.h"
#include "jit/region/reduce.h"

namespace tfvm {

int cost(const NestNode& n) {
  if (n.kind != NestNodeKind::Op) return 0;
  switch (n.op) {
    case Op::div:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::reciprocal:
      return 4;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::zmul:
    case Op::fma:
    case Op::zfma:
    case Op::neg:
    case Op::abs:
    case Op::square:
    case Op::max:
    case Op::min:
    case Op::select:
    case Op::cast:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::and_:
    case Op::or_:
    case Op::not_:
      return 1;
    default:
      return 16;
  }
}

namespace {

constexpr std::int64_t kLarge = 512;     // elements of a value that is worth it
constexpr std::int64_t kSmallPart = 8;   // a leaf has at most so small a part of the value's bytes
constexpr int kMaxCost = 64;             // of an element, in additions
constexpr std::size_t kMaxReduced = 16;  // elements of a reduction that counts as ops
constexpr std::size_t kMaxNodes = 96, kMaxAccesses = 32;

// An element of a value at a point of its loops: the only store of a nest.
using Cheap = Nest;

bool is_cheap(const Nest& n) {
  if (points(n) < kLarge || is_complex(n.stores[0].to.dtype)) return false;
  const std::int64_t bytes = points(n) * size_of(n.stores[0].to.dtype);
  int sum = 0;
  for (const NestNode& node : n.nodes) {
    if (is_picking(node)) return false;
    if (node.kind == NestNodeKind::Load &&
        touched(n, n.accesses[node.access]) * size_of(node.dtype) * kSmallPart > bytes)
      return false;
    sum += cost(node);
  }
  return sum <= kMaxCost;
}

class Recomputer {
 public:
  explicit Recomputer(std::span<const std::uint8_t> live_out) : live_out_(live_out) {}

  // Of each value that the nest stores: what it takes to compute it.
  void know(const Nest& n) {
    cheap_.clear();
    for (const Store& s : n.stores) {
      Nest value = n;
      value.stores = {s};
      compact(value);
      if (is_row_major(value, value.stores[0].to)) cheap_.emplace(s.to.base, std::move(value));
    }
  }
  // The reader without loads of what is known; nullopt: some must stay.
  std::optional<Nest> without_loads(const Nest& reader) {
    Nest n = reader;
    inline_loads(n);
    for (const NestNode& node : n.nodes)
      if (node.kind == NestNodeKind::Load && cheap_.contains(n.accesses[node.access].base)) return std::nullopt;
    return n;
  }

  void take(FuseItem& item) {
    if (!item.nest) return;
    inline_loads(*item.nest);
    const Nest& n = *item.nest;
    if (n.stores.size() + n.reductions.size() != 1 || points(n) == 0) return;
    std::optional<Nest> value = n.has_reduction() ? without_reduction(n) : n;
    if (!value || live_out_[value->stores[0].to.base] || !is_row_major(*value, value->stores[0].to) ||
        !is_cheap(*value))
      return;
    const std::uint32_t base = value->stores[0].to.base;
    cheap_.emplace(base, *std::move(value));
  }

 private:
  void inline_loads(Nest& nest) {
    const bool any = std::ranges::any_of(nest.nodes, [&](const NestNode& n) {
      return n.kind == NestNodeKind::Load && cheap_.contains(nest.accesses[n.access].base);
    });
    if (!any || points(nest) == 0) return;
    Nest out;
    out.extents = nest.extents;
    out.reduced = nest.reduced;
    std::vector<std::uint32_t> map;
    for (const NestNode& n : nest.nodes) map.push_back(copy(nest, n, map, out));
    for (const Store& s : nest.stores) out.stores.push_back({map[s.node], s.to});
    for (const Reduction& r : nest.reductions) out.reductions.push_back({r.op, map[r.node], r.to, r.source});
    if (out.nodes.size() <= kMaxNodes && out.accesses.size() <= kMaxAccesses) nest = std::move(out);
  }

  std::uint32_t copy(const Nest& nest, NestNode n, const std::vector<std::uint32_t>& map, Nest& out) {
    if (n.kind == NestNodeKind::Load && n.in[1] == kNoNode) {
      const std::uint32_t mask = n.in[0] == kNoNode ? kNoNode : map[n.in[0]];
      const auto it = cheap_.find(nest.accesses[n.access].base);
      if (it != cheap_.end() && (mask == kNoNode || may_be_masked(it->second)))
        if (const auto m = map_load(nest, n, it->second)) return splice(it->second, *m, mask, out);
    }
    if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota)
      n.access = add_access(out, nest.accesses[n.access]);
    for (std::uint32_t& in : n.in)
      if (in != kNoNode) in = map[in];
    return add_node(out, n);
  }

  // Loads under masks have code for these.
  static bool may_be_masked(const Cheap& value) {
    return std::ranges::all_of(value.nodes, [](const NestNode& n) {
      return n.dtype == DType::Bool ? n.kind != NestNodeKind::Load
                                    : !is_complex(n.dtype) && (size_of(n.dtype) == 4 || size_of(n.dtype) == 8);
    });
  }

  // Where the mask does not hold nothing is read, and the element is zero.
  static std::uint32_t splice(const Cheap& value, const LoadMap& m, std::uint32_t mask, Nest& out) {
    std::vector<std::uint32_t> map;
    for (NestNode n : value.nodes) {
      if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota)
        n.access = add_access(out, moved(value.accesses[n.access], m));
      for (std::uint32_t& in : n.in)
        if (in != kNoNode) in = map[in];
      if (n.kind == NestNodeKind::Load && mask != kNoNode)
        n.in[0] = n.in[0] == kNoNode ? mask : add_node(out, both(n.in[0], mask));
      map.push_back(add_node(out, n));
    }
    const std::uint32_t found = map[value.stores[0].node];
    if (mask == kNoNode || out.nodes[found].kind == NestNodeKind::Load) return found;
    NestNode zero, chosen;
    zero.kind = NestNodeKind::Constant;
    zero.dtype = chosen.dtype = out.nodes[found].dtype;
    chosen.op = Op::select;
    chosen.in = {mask, found, add_node(out, zero)};
    return add_node(out, chosen);
  }

  static NestNode both(std::uint32_t a, std::uint32_t b) {
    NestNode n;
    n.op = Op::and_;
    n.dtype = DType::Bool;
    n.in = {a, b, kNoNode};
    return n;
  }

  // A reduction over a few elements as ops, in its order.
  static std::optional<Nest> without_reduction(const Nest& n) {
    const Reduction& r = n.reductions[0];
    if (is_complex(r.to.dtype) || r.to.dtype == DType::F16 || r.to.dtype == DType::BF16) return std::nullopt;
    std::size_t count = 1, last = 0;
    bool is_row = true;  // all that is reduced is at the end
    for (std::size_t d = 0; d < n.extents.size(); ++d) {
      if (n.extents[d] == 1) continue;
      if (n.reduced[d]) count *= static_cast<std::size_t>(n.extents[d]);
      is_row = is_row && (n.reduced[d] || count == 1);
      last = d;
      if (count > kMaxReduced) return std::nullopt;
    }
    if (!is_row && n.reduced[last]) return std::nullopt;  // rows in sequence
    Nest out;
    const auto kept = [&](const Access& a) {
      Access to{a.base, a.dtype, a.offset, {}};
      for (std::size_t d = 0; d < n.extents.size(); ++d)
        if (!n.reduced[d]) to.strides.push_back(a.strides[d]);
      return to;
    };
    for (std::size_t d = 0; d < n.extents.size(); ++d)
      if (!n.reduced[d]) out.extents.push_back(n.extents[d]);
    out.reduced.assign(out.extents.size(), 0);
    std::vector<std::uint32_t> values;
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<std::uint32_t> map;
      for (NestNode node : n.nodes) {
        if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota) {
          Access a = kept(n.accesses[node.access]);
          auto rest = static_cast<std::int64_t>(at);
          for (std::size_t d = n.extents.size(); d-- > 0;) {
            if (!n.reduced[d]) continue;
            a.offset += rest % n.extents[d] * n.accesses[node.access].strides[d];
            rest /= n.extents[d];
          }
          node.access = add_access(out, a);
        }
        for (std::uint32_t& in : node.in)
          if (in != kNoNode) in = map[in];
        map.push_back(add_node(out, node));
      }
      values.push_back(map[r.node]);
    }
    NestNode join;
    join.op = combining(r.op);
    join.dtype = r.to.dtype;
    const auto combine = [&](std::size_t a, std::size_t b) {
      join.in = {values[a], values[b], kNoNode};
      values[a] = add_node(out, join);
    };
    if (is_row) {
      for (std::size_t w = std::bit_ceil(count) / 2; w > 0; w /= 2)
        for (std::size_t j = 0; j < w && j + w < count; ++j) combine(j, j + w);
    } else {
      for (std::size_t j = 1; j < count; ++j) combine(0, j);
    }
    if (out.nodes.size() > kMaxNodes || out.accesses.size() > kMaxAccesses) return std::nullopt;
    out.stores.push_back({values[0], kept(r.to)});
    return out;
  }

  std::span<const std::uint8_t> live_out_;
  std::unordered_map<std::uint32_t, Cheap> cheap_;  // by base
};

}  // namespace

void recompute(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out) {
  Recomputer r(live_out);
  for (FuseItem& item : items) r.take(item);
}

namespace {

constexpr std::int64_t kOfStep = 1000;  // additions of elements, in vectors, that take as long as a step does

class SmallRecomputer {
 public:
  SmallRecomputer(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out)
      : items_(items), live_out_(live_out), recomputer_(live_out), readers_(live_out.size()) {
    for (std::uint32_t k = 0; k < items.size(); ++k) note_reads(k);
  }

  void run() {
    std::vector<std::uint8_t> is_gone(items_.size(), 0);
    for (std::uint32_t k = 0; k < items_.size(); ++k) is_gone[k] = take(k);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < items_.size(); ++k) {
      if (is_gone[k]) continue;
      if (kept != k) items_[kept] = std::move(items_[k]);
      ++kept;
    }
    items_.resize(kept);
  }

 private:
  void note_reads(std::uint32_t item) {
    const auto note = [&](std::uint32_t base) {
      if (readers_[base].empty() || readers_[base].back() != item) readers_[base].push_back(item);
    };
    if (!items_[item].nest) std::ranges::for_each(items_[item].reads, note);
    if (!items_[item].nest) return;
    for (const NestNode& n : items_[item].nest->nodes)
      if (n.kind == NestNodeKind::Load) note(items_[item].nest->accesses[n.access].base);
  }

  // True: its readers compute what it stores.
  bool take(std::uint32_t k) {
    if (!items_[k].nest || items_[k].nest->has_reduction()) return false;
    const Nest& n = *items_[k].nest;
    std::vector<std::uint32_t> readers;
    for (const Store& s : n.stores) {
      if (live_out_[s.to.base]) return false;
      readers.insert(readers.end(), readers_[s.to.base].begin(), readers_[s.to.base].end());
    }
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    std::int64_t each = 0, times = -points(n);
    for (const NestNode& node : n.nodes) each += cost(node);
    for (std::uint32_t r : readers) {
      if (!items_[r].nest) return false;
      times += points(*items_[r].nest);
      if (times > kOfStep || each * times > kOfStep) return false;
    }
    recomputer_.know(n);
    std::vector<Nest> alone;
    for (std::uint32_t r : readers) {
      std::optional<Nest> without = recomputer_.without_loads(*items_[r].nest);
      if (!without) return false;
      alone.push_back(*std::move(without));
    }
    for (std::size_t r = 0; r < readers.size(); ++r) {
      FuseItem& to = items_[readers[r]];
      to.nest = std::move(alone[r]);
      to.origins.insert(to.origins.begin(), items_[k].origins.begin(), items_[k].origins.end());
      note_reads(readers[r]);
    }
    return !readers.empty();
  }

  std::vector<FuseItem>& items_;
  std::span<const std::uint8_t> live_out_;
  Recomputer recomputer_;
  std::vector<std::vector<std::uint32_t>> readers_;  // per base, some of them more than once
};

}  // namespace

void recompute_small(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out) {
  SmallRecomputer(items, live_out).run();
}

}  // namespace tfvm
