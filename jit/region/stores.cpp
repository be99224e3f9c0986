#include "jit/region/stores.h"

#include <algorithm>
#include <optional>

#include "jit/region/build.h"
#include "jit/region/edit.h"
#include "jit/region/recompute.h"

namespace tfvm {

namespace {

constexpr std::int64_t kSmallPart = 8;  // an array has at most so small a part of the points, or costs a load
constexpr int kMaxRounds = 8;

using Flags = std::vector<std::uint8_t>;  // by node

// Whether the element is the one at the point, of a value as large as the loops.
bool is_own(const Nest& n, const Access& a) { return a.offset == 0 && is_row_major(n, a); }

// A load that costs no more than one of a stored value.
bool is_plain(const Nest& nest, const NestNode& n) {
  if (n.kind != NestNodeKind::Load || is_picking(n)) return false;
  const Access& a = nest.accesses[n.access];
  for (std::size_t d = nest.extents.size(); d-- > 0;)
    if (nest.extents[d] != 1) return a.strides[d] == 1 || a.strides[d] == 0;
  return true;
}

// The values of one nest: which of them its readers load.
class Choice {
 public:
  Choice(const Nest& nest, Flags needed, Flags stored)
      : nest_(nest), needed_(std::move(needed)), stored_(std::move(stored)), kept_(needed_), reached_(needed_) {
    for (std::size_t k = reached_.size(); k-- > 0;) {
      const NestNode& n = nest_.nodes[k];
      if (!reached_[k] || !is_cheap(n)) continue;
      for (std::uint32_t in : n.in)
        if (in != kNoNode) reached_[in] = 1;
    }
  }

  bool search() {
    std::int64_t best = price(kept_);
    const std::int64_t before = best;
    for (int round = 0; round < kMaxRounds; ++round) {
      Flags chosen;
      for (std::size_t add = 0; add <= kept_.size(); ++add) {
        if (add < kept_.size() && (kept_[add] || !may_keep(add))) continue;
        for (const bool with_loads : {false, true}) {
          Flags with = instead(add, with_loads);
          const std::int64_t p = price(with);
          if (p < best) best = p, chosen = std::move(with);
        }
      }
      if (chosen.empty()) break;
      kept_ = std::move(chosen);
    }
    return best < before;
  }
  const Flags& kept() const { return kept_; }

 private:
  // What is kept, `add` and maybe the arrays that the nest loads, without what follows from the rest.
  Flags instead(std::size_t add, bool with_loads) const {
    Flags with = kept_;
    if (add < with.size()) with[add] = 1;
    for (std::size_t v = 0; v < with.size() && with_loads; ++v)
      with[v] |= reached_[v] && is_plain(nest_, nest_.nodes[v]);
    for (const bool loads : {false, true})
      for (std::size_t v = with.size(); v-- > 0;)
        if (with[v] && v != add && is_plain(nest_, nest_.nodes[v]) == loads && !follows(with, v)) with[v] = 1;
    return with;
  }
  bool may_keep(std::size_t v) const {
    return reached_[v] && (nest_.nodes[v].kind == NestNodeKind::Op || is_plain(nest_, nest_.nodes[v]));
  }
  bool is_free(const NestNode& n) const {
    if (n.kind == NestNodeKind::Load)
      return is_plain(nest_, n) && touched(nest_, nest_.accesses[n.access]) * kSmallPart <= points(nest_);
    return n.kind == NestNodeKind::Constant || n.kind == NestNodeKind::Iota;
  }
  static bool is_cheap(const NestNode& n) { return n.kind == NestNodeKind::Op && cost(n) <= 1; }
  // Whether a node follows from what is there.
  bool follows_from(const Flags& there, const NestNode& n) const {
    if (!is_cheap(n)) return is_free(n);
    return std::ranges::all_of(n.in, [&](std::uint32_t in) { return in == kNoNode || there[in]; });
  }
  // Takes `v` out; false, and it is to be put back, if not all that is needed follows from the others.
  bool follows(Flags& kept, std::size_t v) const {
    kept[v] = 0;
    Flags there = kept;
    for (std::size_t k = 0; k < there.size(); ++k) {
      if (!reached_[k]) continue;
      if (!there[k]) there[k] = follows_from(there, nest_.nodes[k]);
      if (needed_[k] && !there[k]) return false;
    }
    return true;
  }
  // Bytes that a point moves, and ops that it takes.
  std::int64_t price(const Flags& kept) const {
    std::int64_t sum = 0;
    Flags used = needed_;
    for (std::size_t k = used.size(); k-- > 0;) {
      const NestNode& n = nest_.nodes[k];
      if (kept[k]) {
        const bool is_there = stored_[k] || is_plain(nest_, n);
        sum += size_of(n.dtype) * (is_there ? 1 : 2);
      } else if (used[k] && n.kind == NestNodeKind::Op) {
        ++sum;
        for (std::uint32_t in : n.in)
          if (in != kNoNode) used[in] = 1;
      }
    }
    return sum;
  }

  const Nest& nest_;
  Flags needed_, stored_, kept_;
  Flags reached_;  // from what is needed, through cheap ops
};

class Chooser {
 public:
  Chooser(std::vector<FuseItem>& items, std::uint32_t bases, std::span<const std::uint8_t> live_out,
          const FuseOptions& options)
      : items_(items), options_(options), is_fixed_(bases, 0), readers_(bases) {
    std::ranges::copy(live_out, is_fixed_.begin());
  }

  std::vector<std::int64_t> run() {
    for (std::uint32_t k = 0; k < items_.size(); ++k) note_reads(k);
    for (std::uint32_t k = 0; k < items_.size(); ++k) take(k);
    return std::move(bytes_);
  }

 private:
  void note_reads(std::uint32_t item) {
    const FuseItem& i = items_[item];
    for (std::uint32_t base : i.reads) is_fixed_[base] = 1;
    if (!i.nest) return;
    for (const NestNode& n : i.nest->nodes) {
      if (n.kind != NestNodeKind::Load) continue;
      const Access& a = i.nest->accesses[n.access];
      if (is_picking(n) || !is_own(*i.nest, a)) is_fixed_[a.base] = 1;
      auto& readers = readers_[a.base];
      if (readers.empty() || readers.back() != item) readers.push_back(item);
    }
  }

  // Whether somebody needs the store itself: another than nests that load the element at their point, over equal loops.
  bool is_fixed(const Nest& maker, const Store& s) const {
    const auto differs = [&](std::uint32_t r) { return items_[r].nest->extents != maker.extents; };
    return is_fixed_[s.to.base] || !is_own(maker, s.to) || std::ranges::any_of(readers_[s.to.base], differs);
  }

  void take(std::uint32_t k) {
    if (!items_[k].nest || points(*items_[k].nest) < options_.large) return;
    const Nest& n = *items_[k].nest;
    Flags needed(n.nodes.size(), 0), stored(n.nodes.size(), 0);
    std::vector<std::uint32_t> readers;
    for (const Store& s : n.stores) {
      is_fixed_[s.to.base] = is_fixed(n, s);
      if (is_fixed_[s.to.base]) {
        stored[s.node] |= is_own(n, s.to);
        continue;
      }
      needed[s.node] = 1;
      const auto& list = readers_[s.to.base];
      readers.insert(readers.end(), list.begin(), list.end());
    }
    if (readers.empty()) return;
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    if (Choice choice(n, needed, stored); choice.search()) apply(k, choice.kept(), readers);
  }

  void apply(std::uint32_t k, const Flags& kept, const std::vector<std::uint32_t>& readers) {
    Rewriting r{*items_[k].nest, is_fixed_, {}};
    std::vector<Store> stores;  // of the maker
    std::vector<std::int64_t> added;
    for (const Store& s : r.maker.stores)
      if (is_fixed_[s.to.base]) stores.push_back(s);
    r.from.resize(kept.size());
    for (std::uint32_t v = 0; v < kept.size(); ++v) {
      if (!kept[v]) continue;
      const NestNode& n = r.maker.nodes[v];
      for (const Store& s : r.maker.stores)
        if (s.node == v && is_own(r.maker, s.to)) r.from[v] = s.to;
      if (is_plain(r.maker, n)) r.from[v] = r.maker.accesses[n.access];
      if (!r.from[v]) {
        const auto base = static_cast<std::uint32_t>(readers_.size() + added.size());
        r.from[v] = row_major(base, n.dtype, r.maker.extents);
        added.push_back(points(r.maker) * size_of(n.dtype));
      }
      if (!is_plain(r.maker, n))
        if (std::ranges::find(stores, *r.from[v], &Store::to) == stores.end()) stores.push_back({v, *r.from[v]});
    }
    std::vector<Nest> rewritten;
    for (std::uint32_t item : readers) {
      rewritten.push_back(r.of(*items_[item].nest));
      if (rewritten.back().nodes.size() > options_.max_nodes ||
          rewritten.back().accesses.size() > options_.max_accesses)
        return;
    }
    Nest& maker = *items_[k].nest;
    maker.stores = std::move(stores);
    compact(maker);
    readers_.resize(readers_.size() + added.size());
    is_fixed_.resize(readers_.size(), 0);
    bytes_.insert(bytes_.end(), added.begin(), added.end());
    for (std::size_t i = 0; i < readers.size(); ++i) {
      items_[readers[i]].nest = std::move(rewritten[i]);
      note_reads(readers[i]);
    }
  }

  // Of the nests that load what a maker does not store any more.
  struct Rewriting {
    const Nest& maker;
    const Flags& is_fixed;                    // by base
    std::vector<std::optional<Access>> from;  // by node of the maker: where it is loaded, if it is

    Nest of(const Nest& reader) const {
      Nest out;
      out.extents = reader.extents;
      out.reduced = reader.reduced;
      std::vector<std::uint32_t> made(maker.nodes.size(), kNoNode), map;
      for (const NestNode& n : reader.nodes) {
        const Store* s = n.kind == NestNodeKind::Load ? store_of(reader.accesses[n.access].base) : nullptr;
        map.push_back(s ? make(s->node, made, out) : copy(n, reader, map, out));
      }
      for (const Store& s : reader.stores) out.stores.push_back({map[s.node], s.to});
      for (const Reduction& r : reader.reductions) out.reductions.push_back({r.op, map[r.node], r.to, r.source});
      return out;
    }
    const Store* store_of(std::uint32_t base) const {
      const auto it = std::ranges::find(maker.stores, base, [](const Store& s) { return s.to.base; });
      return it == maker.stores.end() || is_fixed[base] ? nullptr : &*it;
    }
    static std::uint32_t copy(NestNode n, const Nest& from, std::span<const std::uint32_t> map, Nest& to) {
      if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota)
        n.access = add_access(to, from.accesses[n.access]);
      for (std::uint32_t& in : n.in)
        if (in != kNoNode) in = map[in];
      return add_node(to, n);
    }
    // `made`: what the reader has of the maker's nodes already.
    std::uint32_t make(std::uint32_t v, std::vector<std::uint32_t>& made, Nest& to) const {
      if (made[v] != kNoNode) return made[v];
      if (from[v]) {
        NestNode load;
        load.kind = NestNodeKind::Load;
        load.dtype = maker.nodes[v].dtype;
        load.access = add_access(to, *from[v]);
        return made[v] = add_node(to, load);
      }
      for (std::uint32_t in : maker.nodes[v].in)
        if (in != kNoNode) make(in, made, to);
      return made[v] = copy(maker.nodes[v], maker, made, to);
    }
  };

  std::vector<FuseItem>& items_;
  const FuseOptions& options_;
  std::vector<std::uint8_t> is_fixed_;               // by base: the store itself is needed
  std::vector<std::vector<std::uint32_t>> readers_;  // by base: nests, some more than once
  std::vector<std::int64_t> bytes_;
};

}  // namespace

std::vector<std::int64_t> choose_stores(std::vector<FuseItem>& items, std::uint32_t bases,
                                        std::span<const std::uint8_t> live_out, const FuseOptions& options) {
  return Chooser(items, bases, live_out, options).run();
}

}  // namespace tfvm
