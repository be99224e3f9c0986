#include "jit/region/fuse.h"

#include <algorithm>
#include <utility>

#include "jit/region/code.h"
#include "jit/region/edit.h"
#include "jit/region/fuse_notes.h"
#include "jit/region/recompute.h"
#include "jit/region/small_loops.h"

namespace tfvm {

namespace {

constexpr std::size_t kWindow = 16;        // earlier items that an item may join
constexpr std::int64_t kSmallLoop = 1024;  // up to here unrelated nests share their loop too

bool same_map(const Access& a, const Access& b, const std::vector<std::int64_t>& extents) {
  if (a.base != b.base || a.dtype != b.dtype || a.offset != b.offset) return false;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (extents[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

const Store* store_of(const Nest& n, std::uint32_t base) {
  for (const Store& s : n.stores)
    if (s.to.base == base) return &s;
  return nullptr;
}

bool reduces_into(const Nest& n, std::uint32_t base) {
  return std::ranges::any_of(n.reductions, [&](const Reduction& r) { return r.to.base == base; });
}

bool writes(const Nest& n, std::uint32_t base) { return store_of(n, base) || reduces_into(n, base); }

template <class Fn>
bool all_loads(const Nest& n, Fn fn) {
  return std::ranges::all_of(
      n.nodes, [&](const NestNode& node) { return node.kind != NestNodeKind::Load || fn(n.accesses[node.access]); });
}

bool is_small(const Nest& n) {
  std::int64_t points = 1;
  for (std::int64_t e : n.extents)
    if (e != 0 && (points *= e) > kSmallLoop) return false;
  return true;
}

void append(Nest& first, const Nest& second);

// Sums over the same pairs may share most of what they compute: what counts is what they are together.
bool may_overlap(const Nest& first, const Nest& second) {
  return first.has_reduction() && second.has_reduction() && !is_small(first);
}

const char* too_large(const Nest& first, const Nest& second, const FuseOptions& o) {
  std::size_t nodes = first.nodes.size() + second.nodes.size();
  std::size_t accesses = first.accesses.size() + second.accesses.size();
  if ((nodes > o.max_nodes || accesses > o.max_accesses) && may_overlap(first, second)) {
    Nest both = first;
    append(both, second);
    nodes = both.nodes.size();
    accesses = both.accesses.size();
  }
  if (nodes > o.max_nodes) return "together they have too many ops";
  return accesses > o.max_accesses ? "together they read too many arrays" : nullptr;
}

// Why they can't be one; null where they can.
const char* conflict(const Nest& first, const Nest& second, const FuseOptions& o) {
  if (first.extents != second.extents) return "their loops differ";
  if (first.has_reduction() && second.has_reduction() && first.reduced != second.reduced)
    return "they reduce over other loops";
  if (!may_overlap(first, second))
    if (const char* why = too_large(first, second, o)) return why;
  if (first.stores.size() + second.stores.size() > o.max_stores) return "together they write too many arrays";
  if (first.reductions.size() + second.reductions.size() > kMaxReductions) return "together they reduce too often";
  const char* why = nullptr;
  const auto meets = [&](const Nest& writer, const Access& a) {
    if (reduces_into(writer, a.base)) why = "one reduces what the other reads, which is there only at the end";
    const Store* s = store_of(writer, a.base);
    if (s && !same_map(s->to, a, first.extents)) why = "it is read at other points than it is written at";
    return why == nullptr;
  };
  for (const NestNode& n : second.nodes)
    if (is_picking(n) && writes(first, second.accesses[n.access].base))
      return "it is read at other points than it is written at";
  all_loads(second, [&](const Access& a) { return meets(first, a); });
  if (!why) all_loads(first, [&](const Access& a) { return meets(second, a); });
  return why || !may_overlap(first, second) ? why : too_large(first, second, o);
}

bool is_sound(const Nest& first, const Nest& second, const FuseOptions& o) { return !conflict(first, second, o); }

// `second` behind `first`: what it loads from a store of `first` becomes that node.
void append(Nest& first, const Nest& second) {
  const std::size_t own_stores = first.stores.size();
  std::vector<std::uint32_t> map(second.nodes.size());
  for (std::size_t k = 0; k < second.nodes.size(); ++k) {
    NestNode node = second.nodes[k];
    if (node.kind == NestNodeKind::Load) {
      const Access& a = second.accesses[node.access];
      const auto s = std::find_if(first.stores.begin(), first.stores.begin() + static_cast<std::ptrdiff_t>(own_stores),
                                  [&](const Store& t) { return t.to.base == a.base; });
      if (s != first.stores.begin() + static_cast<std::ptrdiff_t>(own_stores)) {
        map[k] = s->node;
        continue;
      }
    }
    if (node.kind == NestNodeKind::Load || node.kind == NestNodeKind::Iota)
      node.access = add_access(first, second.accesses[node.access]);
    for (std::uint32_t& in : node.in)
      if (in != kNoNode) in = map[in];
    map[k] = add_node(first, node);
  }
  for (const Store& s : second.stores) first.stores.push_back({map[s.node], s.to});
  for (const Reduction& r : second.reductions) first.reductions.push_back({r.op, map[r.node], r.to, r.source});
  if (second.has_reduction()) first.reduced = second.reduced;
}

// A large loop is shared only where that saves a pass over memory.
bool is_worth_it(const Nest& first, const Nest& second) {
  bool loads = false, shares = false;
  all_loads(second, [&](const Access& a) {
    loads = true;
    shares = shares || writes(first, a.base) || !all_loads(first, [&](const Access& b) { return a.base != b.base; });
    return true;
  });
  return !loads || shares || is_small(first);
}

class Fuser {
 public:
  Fuser(std::vector<FuseItem> items, std::size_t bases, const FuseOptions& options)
      : in_(std::move(items)), options_(options), written_at_(bases, 0) {}

  std::vector<FuseItem> run(std::span<const std::uint8_t> live_out) {
    for (std::uint32_t k = 0; k < in_.size(); ++k) {
      in_[k].origins = {k};
      const bool is_nest = in_[k].nest && options_.enabled;
      std::size_t at = is_nest ? join(in_[k], out_.size()) : 0;
      if (at == 0) at = place(std::move(in_[k]));
      while (is_nest && pull(at)) {
      }
    }
    drop_dead(live_out);
    if (options_.enabled) {
      join_again(live_out);
      if (options_.recompute && unroll_small_loops()) join_again(live_out);
    }
    std::erase_if(out_, is_empty);
    return std::move(out_);
  }

 private:
  // Where the item went, of the first `end`; 0 where it fits nowhere.
  std::size_t join(const FuseItem& item, std::size_t end) {
    std::size_t first = 0;  // items counted from 1: what it reads is written there or before
    all_loads(*item.nest, [&](const Access& a) {
      first = std::max<std::size_t>(first, written_at_[a.base]);
      return true;
    });
    const std::size_t last = end > kWindow ? end - kWindow : 0;
    for (std::size_t at = end; at > last && at >= first && at > 0; --at) {
      FuseItem& to = out_[at - 1];
      if (!to.nest || is_empty(to) || !is_sound(*to.nest, *item.nest, options_) || !is_worth_it(*to.nest, *item.nest))
        continue;
      if (options_.gate && !options_.gate->may_merge()) return 0;
      append(*to.nest, *item.nest);
      if (options_.gate) options_.gate->merged(*to.nest);
      to.origins.insert(to.origins.end(), item.origins.begin(), item.origins.end());
      note_writes(*item.nest, at);
      return at;
    }
    return 0;
  }

  // Brings an earlier nest whose values the nest at `at` loads into it, if nothing in between reads them.
  bool pull(std::size_t at) {
    FuseItem& to = out_[at - 1];
    std::size_t from = 0;
    all_loads(*to.nest, [&](const Access& a) {
      const std::size_t w = written_at_[a.base];
      if (w != 0 && w < at && at - w <= kWindow && out_[w - 1].nest &&
          is_sound(*out_[w - 1].nest, *to.nest, options_) && !is_read_between(w, at))
        from = w;
      return from == 0;
    });
    if (from == 0 || (options_.gate && !options_.gate->may_merge())) return false;
    FuseItem& source = out_[from - 1];
    append(*source.nest, *to.nest);
    to.nest = std::exchange(source.nest, Nest{});
    source.origins.insert(source.origins.end(), to.origins.begin(), to.origins.end());
    to.origins = std::exchange(source.origins, {});
    note_writes(*to.nest, at);
    if (options_.gate) options_.gate->merged(*to.nest);
    return true;
  }

  bool unroll_small_loops() {
    bool any = false;
    for (FuseItem& item : out_)
      if (item.nest && unroll_small_loop(*item.nest)) any = true;
    return any;
  }

  // Nests that have lost what nobody needs, or a loop, may fit now.
  void join_again(std::span<const std::uint8_t> live_out) {
    bool changed = false;
    for (std::size_t at = 2; at <= out_.size(); ++at) {
      FuseItem& item = out_[at - 1];
      if (!item.nest || is_empty(item) || join(item, at - 1) == 0) continue;
      item = {Nest{}, {}, {}, {}};
      changed = true;
    }
    if (changed) drop_dead(live_out);
  }

  static bool is_empty(const FuseItem& i) { return i.nest && i.nest->stores.empty() && i.nest->reductions.empty(); }

  bool is_read_between(std::size_t from, std::size_t to) const {
    const auto written = [&](std::uint32_t base) { return written_at_[base] == from; };
    for (std::size_t k = from + 1; k < to; ++k) {
      const FuseItem& item = out_[k - 1];
      if (item.nest && !all_loads(*item.nest, [&](const Access& a) { return !written(a.base); })) return true;
      if (std::ranges::any_of(item.reads, written)) return true;
    }
    return false;
  }

  std::size_t place(FuseItem item) {
    out_.push_back(std::move(item));
    const FuseItem& placed = out_.back();
    if (placed.nest) note_writes(*placed.nest, out_.size());
    for (std::uint32_t b : placed.writes) written_at_[b] = static_cast<std::uint32_t>(out_.size());
    return out_.size();
  }

  void note_writes(const Nest& n, std::size_t at) {
    for (const Store& s : n.stores) written_at_[s.to.base] = static_cast<std::uint32_t>(at);
    for (const Reduction& r : n.reductions) written_at_[r.to.base] = static_cast<std::uint32_t>(at);
  }

  // Readers stand behind writers, so one walk backwards finds what is needed.
  void drop_dead(std::span<const std::uint8_t> live_out) {
    std::vector<std::uint8_t> needed(live_out.begin(), live_out.end());
    for (std::size_t k = out_.size(); k-- > 0;) {
      FuseItem& item = out_[k];
      if (item.nest) {
        std::erase_if(item.nest->stores, [&](const Store& s) { return !needed[s.to.base]; });
        std::erase_if(item.nest->reductions, [&](const Reduction& r) { return !needed[r.to.base]; });
        compact(*item.nest);
        all_loads(*item.nest, [&](const Access& a) { return needed[a.base] = 1, true; });
      }
      for (std::uint32_t b : item.reads) needed[b] = 1;
    }
  }

  std::vector<FuseItem> in_, out_;
  FuseOptions options_;
  std::vector<std::uint32_t> written_at_;  // per base: the item that writes it, counted from 1; 0 = there before
};

}  // namespace

std::string why_apart(const Nest& first, const Nest& second, const FuseOptions& options) {
  const char* why = conflict(first, second, options);
  return why ? why : "";
}

std::optional<Nest> merge(const Nest& first, const Nest& second, const FuseOptions& options) {
  if (!is_sound(first, second, options)) return std::nullopt;
  Nest out = first;
  append(out, second);
  return out;
}

void drop_stores(Nest& nest, std::uint32_t base) {
  std::erase_if(nest.stores, [&](const Store& s) { return s.to.base == base; });
  std::erase_if(nest.reductions, [&](const Reduction& r) { return r.to.base == base; });
  compact(nest);
}

std::vector<FuseItem> fuse(std::vector<FuseItem> items, std::span<const std::uint8_t> live_out,
                           const FuseOptions& options) {
  if (options.enabled && options.recompute) recompute(items, live_out);
  return Fuser(std::move(items), live_out.size(), options).run(live_out);
}

}  // namespace tfvm
