#include "jit/region/layouts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "jit/region/edit.h"

namespace tfvm {

namespace {

using Strides = InlineVector<std::int64_t, 6>;

struct Range {
  std::int64_t from = 0, to = 0;
};

// Of each loop, the points where the node may be true: as far as comparisons of a loop's number with a constant say.
void narrow(const Nest& n, std::uint32_t mask, std::vector<Range>& ranges) {
  const NestNode& m = n.nodes[mask];
  if (m.kind != NestNodeKind::Op) return;
  if (m.op == Op::and_) return narrow(n, m.in[0], ranges), narrow(n, m.in[1], ranges);
  if (m.op != Op::lt && m.op != Op::ge) return;
  const NestNode &i = n.nodes[m.in[0]], &c = n.nodes[m.in[1]];
  const bool is_signed = i.dtype == DType::I32 || i.dtype == DType::I64;
  if (i.kind != NestNodeKind::Iota || c.kind != NestNodeKind::Constant || !is_signed) return;
  const std::int64_t bound = i.dtype == DType::I32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(c.bits))
                                                   : static_cast<std::int64_t>(c.bits);
  const Access& a = n.accesses[i.access];
  std::optional<std::size_t> loop;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    if (a.strides[d] == 0 || n.extents[d] == 1) continue;
    if (loop || a.strides[d] != 1) return;
    loop = d;
  }
  if (!loop) return;
  Range& r = ranges[*loop];
  m.op == Op::lt ? r.to = std::min(r.to, bound - a.offset) : r.from = std::max(r.from, bound - a.offset);
}

// A value whose elements are those of a nest's loops: each loop's stride.
struct Layout {
  std::span<const std::int64_t> extents;
  Strides strides;
};

// Row-major, where the loops go from the outside in `order`.
Strides dense(std::span<const std::int64_t> extents, std::span<const std::size_t> order) {
  Strides s;
  s.resize(extents.size(), 0);
  std::int64_t step = 1;
  for (std::size_t k = order.size(); k-- > 0; step *= extents[order[k]])
    if (extents[order[k]] != 1) s[order[k]] = step;
  return s;
}

// The same elements where they lie by `to`; nullopt where the access doesn't say which loop's element it takes.
std::optional<Access> moved(const Nest& reader, const NestNode& load, const Layout& from, const Strides& to) {
  const Access& a = reader.accesses[load.access];
  std::vector<Range> ranges;
  for (std::int64_t e : reader.extents) ranges.push_back({0, e});
  if (load.in[0] != kNoNode) narrow(reader, load.in[0], ranges);
  std::vector<std::size_t> dims;  // of the value, from the largest stride
  for (std::size_t d = 0; d < from.extents.size(); ++d)
    if (from.extents[d] != 1) dims.push_back(d);
  std::ranges::sort(dims, std::greater{}, [&](std::size_t d) { return from.strides[d]; });

  std::int64_t first = a.offset;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    if (ranges[r].from >= ranges[r].to) return std::nullopt;
    first += a.strides[r] * ranges[r].from;
  }
  if (first < 0) return std::nullopt;
  std::vector<Range> within(from.extents.size());  // the elements of each dim that it takes
  Access out{a.base, a.dtype, 0, {}};
  for (std::size_t d : dims) {
    within[d] = {first / from.strides[d], first / from.strides[d]};
    out.offset += within[d].from * to[d];
    first %= from.strides[d];
  }
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    std::int64_t stride = 0;
    if (a.strides[r] != 0 && reader.extents[r] != 1) {
      const auto fits = [&](std::size_t k) { return a.strides[r] % from.strides[k] == 0; };
      const auto d = std::ranges::find_if(dims, fits);
      if (d == dims.end()) return std::nullopt;
      const std::int64_t by = a.strides[r] / from.strides[*d], all = by * (ranges[r].to - ranges[r].from - 1);
      (by < 0 ? within[*d].from : within[*d].to) += all;
      stride = by * to[*d];
    }
    out.strides.push_back(stride);
    out.offset -= stride * ranges[r].from;
  }
  for (std::size_t d : dims)
    if (within[d].from < 0 || within[d].to >= from.extents[d]) return std::nullopt;
  return out;
}

class Layouts {
 public:
  Layouts(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out) : items_(items) {
    fixed_.assign(live_out.begin(), live_out.end());
    for (std::uint32_t k = 0; k < items.size(); ++k) {
      const FuseItem& item = items[k];
      for (std::uint32_t b : item.reads) fix(b);
      for (std::uint32_t b : item.writes) fix(b);
      if (!item.nest) continue;
      const Nest& n = *item.nest;
      for (const Reduction& r : n.reductions) fix(r.to.base);
      for (const NestNode& l : n.nodes) {
        if (l.kind != NestNodeKind::Load) continue;
        const std::uint32_t base = n.accesses[l.access].base;
        if (n.has_reduction() || l.in[1] != kNoNode) fix(base);
        if (base >= readers_.size()) readers_.resize(base + 1);
        if (readers_[base].empty() || readers_[base].back() != k) readers_[base].push_back(k);
      }
    }
  }

  void run() {
    for (std::size_t k = 0; k < items_.size(); ++k)
      if (items_[k].nest && !items_[k].nest->has_reduction()) choose(k);
  }

 private:
  struct Move {
    std::size_t item;
    std::uint32_t node;
    Access to;
  };

  void fix(std::uint32_t base) {
    if (base >= fixed_.size()) fixed_.resize(base + 1, 0);
    fixed_[base] = 1;
  }

  void choose(std::size_t k) {
    const Nest& n = *items_[k].nest;
    std::vector<std::size_t> loops(n.extents.size());
    std::iota(loops.begin(), loops.end(), 0);
    const auto is_loop = [&](std::size_t d) { return n.extents[d] > 1; };
    if (std::ranges::count_if(loops, is_loop) < 2 || std::ranges::count(n.extents, 0) > 0) return;
    const std::vector<std::uint32_t> bases = own(n);
    if (bases.empty()) return;
    const std::size_t last = *std::ranges::find_if(loops.rbegin(), loops.rend(), is_loop);
    for (std::size_t d = last; d-- > 0;) {
      if (!is_loop(d)) continue;
      std::vector<std::size_t> order = loops;
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(d), order.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                  order.end());
      if (turn(k, bases, order, last)) return;
    }
  }

  // What the nest stores once, all of it, for nests alone.
  std::vector<std::uint32_t> own(const Nest& n) const {
    std::vector<std::uint32_t> bases;
    for (const Store& s : n.stores) {
      const std::uint32_t b = s.to.base;
      if (b < fixed_.size() && fixed_[b]) continue;
      const bool is_once = std::ranges::count(n.stores, b, [](const Store& t) { return t.to.base; }) == 1;
      const bool is_loaded = std::ranges::any_of(n.accesses, [&](const Access& a) { return a.base == b; });
      if (is_once && !is_loaded && s.to.offset == 0 && is_dense(n, s.to.strides)) bases.push_back(b);
    }
    return bases;
  }

  static bool is_dense(const Nest& n, const Strides& strides) {
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < n.extents.size(); ++d)
      if (n.extents[d] != 1) order.push_back(d);
    std::ranges::sort(order, std::greater{}, [&](std::size_t d) { return strides[d]; });
    const Strides s = dense(n.extents, order);
    return std::ranges::all_of(order, [&](std::size_t d) { return s[d] == strides[d]; });
  }

  // Elements that are taken one by one, where `last` is the inner loop.
  static std::int64_t apart(const Nest& n, const Access& a, std::size_t last) {
    return n.extents[last] > 1 && a.strides[last] != 0 && std::abs(a.strides[last]) != 1 ? points(n) : 0;
  }
  static std::size_t last_loop(const Nest& n) {
    std::size_t d = n.extents.size() - 1;
    while (d > 0 && n.extents[d] == 1) --d;
    return d;
  }

  bool turn(std::size_t k, std::span<const std::uint32_t> bases, std::span<const std::size_t> order, std::size_t last) {
    Nest n = *items_[k].nest;
    const std::size_t inner = order.back();
    std::int64_t before = 0, after = 0;
    for (const NestNode& l : n.nodes) {
      if (l.kind != NestNodeKind::Load) continue;
      before += apart(n, n.accesses[l.access], last);
      after += apart(n, n.accesses[l.access], inner);
    }
    std::vector<Move> moves;
    for (Store& s : n.stores) {
      before += apart(n, s.to, last);
      if (std::ranges::find(bases, s.to.base) != bases.end()) {
        const Layout from{n.extents, s.to.strides};
        s.to.strides = dense(n.extents, order);
        if (!readers(s.to.base, from, s.to.strides, moves, before, after)) return false;
      }
      after += apart(n, s.to, inner);
    }
    if (2 * after > before || before == 0) return false;
    permute(n, order);
    for (const Move& m : moves) {
      Nest& reader = *items_[m.item].nest;
      reader.nodes[m.node].access = add_access(reader, m.to);
    }
    for (const Move& m : moves) compact(*items_[m.item].nest);
    items_[k].nest = std::move(n);
    return true;
  }

  bool readers(std::uint32_t base, const Layout& from, const Strides& to, std::vector<Move>& moves,
               std::int64_t& before, std::int64_t& after) const {
    if (base >= readers_.size()) return true;
    for (const std::uint32_t k : readers_[base]) {
      const Nest& n = *items_[k].nest;
      for (std::uint32_t v = 0; v < n.nodes.size(); ++v) {
        const NestNode& l = n.nodes[v];
        if (l.kind != NestNodeKind::Load || n.accesses[l.access].base != base) continue;
        const std::optional<Access> a = n.extents.empty() ? std::nullopt : moved(n, l, from, to);
        if (!a) return false;
        before += apart(n, n.accesses[l.access], last_loop(n));
        after += apart(n, *a, last_loop(n));
        moves.push_back({k, v, *a});
      }
    }
    return true;
  }

  static void permute(Nest& n, std::span<const std::size_t> order) {
    const auto put = [&](auto& v) {
      const auto old = v;
      for (std::size_t d = 0; d < order.size(); ++d) v[d] = old[order[d]];
    };
    put(n.extents);
    put(n.reduced);
    for (Access& a : n.accesses) put(a.strides);
    for (Store& s : n.stores) put(s.to.strides);
  }

  std::vector<FuseItem>& items_;
  std::vector<std::uint8_t> fixed_;                  // by base: lies as it does
  std::vector<std::vector<std::uint32_t>> readers_;  // by base: the items that load it
};

}  // namespace

void choose_layouts(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out) {
  Layouts(items, live_out).run();
}

}  // namespace tfvm
