#include "vm/plan/over_lanes.h"

#include <algorithm>
#include <functional>
#include <span>

#include "jit/region/recompute.h"
#include "vm/plan/items.h"
#include "vm/plan/steps.h"
#include "vm/plan/unroll.h"

namespace tfvm {

namespace {

constexpr std::int64_t kLeastLanes = 8;
constexpr std::int64_t kMostElements = 16;    // of one value in a lane
constexpr std::int64_t kMostOfProduct = 64;   // the same of what a product gives
constexpr std::int64_t kMostBeside = 11;      // of a product in a lane, if there are kLeastLanes more at the same place
constexpr std::int64_t kMostSteps = 1024;     // of a product in a lane, over its elements and its contracted dims
constexpr std::int64_t kMostShared = 8;       // columns of a matrix that all lanes take: few beside a tile of gemm.h
constexpr std::int64_t kMostChain = 16;       // contracted elements
constexpr std::int64_t kMostCost = 2048;      // of a nest's point
constexpr std::size_t kMostMembers = 64;      // items that become one nest
constexpr std::uint32_t kFarthestItem = 256;  // from the product that all begins with

// Of some extents, at most kMany.
constexpr std::int64_t kMany = std::int64_t{1} << 20;
std::int64_t product(Dims dims, std::size_t from, std::size_t to) {
  std::int64_t n = 1;
  for (std::size_t d = from; d < to; ++d) n = std::min(n * std::min(dims[d], kMany), kMany);
  return n;
}

class LaneRuns {
 public:
  LaneRuns(const Tables& t, const FlatBody& flat, const Plan& plan, Lowered& low)
      : t_(t),
        flat_(flat),
        plan_(plan),
        low_(low),
        readers_(low.bases.size()),
        writer_(low.bases.size(), kNobody),
        mark_(low.bases.size(), 0),
        state_(low.items.size(), State::Apart) {
    for (std::uint32_t k = 0; k < low_.items.size(); ++k) {
      order_.push_back(k);
      at_.push_back(k);
      for_each_read(low_.items[k], [&](std::uint32_t b) { readers_[b].push_back(k); });
      for_each_write(low_.items[k], [&](std::uint32_t b) { writer_[b] = k; });
    }
  }

  void run() {
    bool any = false;
    for (std::uint32_t k = 0; k < low_.items.size(); ++k)
      if (state_[k] == State::Apart && set_lanes(k)) any = make_nest(k) || any;
    if (any) settle();
  }

 private:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  // Gone: in the nest of another item.
  enum class State : std::uint8_t { Apart, Member, Made, Gone };

  Dims dims(ValueId v) const { return t_.types.dims(flat_.body.type(v)); }

  std::optional<Instr> instr_of(std::uint32_t k) const {
    if (low_.items[k].nest || low_.sources[k].is_check || low_.sources[k].instr >= flat_.body.num_instrs())
      return std::nullopt;
    return flat_.body.instr(low_.sources[k].instr);
  }

  std::size_t dims_of_first(const Instr& dot) const {
    return dims(dot.operands[0]).size() - t_.attrs.get_ints_at(dot.attrs, Key::contract, 0).size();
  }

  // The lanes that a product is for: as few leading dims of what it gives, or of those of its second operand, as leave
  // it small.
  bool set_lanes(std::uint32_t k) {
    const std::optional<Instr> in = instr_of(k);
    if (!in || in->op != Op::dot_general) return false;
    const Dims to = dims(in->result());
    const std::size_t own = dims_of_first(*in);
    for (std::size_t count = 1; count <= to.size(); ++count)
      for (const auto& [first, last] : {std::pair(std::size_t{0}, own), std::pair(own, to.size())}) {
        if (first + count > last || product(to, first, first + count) < kLeastLanes) continue;
        const auto from = to.begin() + static_cast<std::ptrdiff_t>(first);
        lanes_.assign(from, from + static_cast<std::ptrdiff_t>(count));
        if (cost_of(k)) return true;
      }
    return false;
  }

  bool begins_with_lanes(Dims d) const {
    return d.size() >= lanes_.size() && std::equal(lanes_.begin(), lanes_.end(), d.begin()) &&
           product(d, lanes_.size(), d.size()) <= kMostElements;
  }

  // nullopt: not over these lanes.
  std::optional<std::int64_t> cost_of(std::uint32_t k) const {
    if (const std::optional<Nest>& n = low_.items[k].nest) {
      if (!begins_with_lanes(n->extents) ||
          !std::ranges::none_of(std::span(n->reduced).first(lanes_.size()), std::identity{}))
        return std::nullopt;
      std::int64_t cost_of_point = 1;
      for (const NestNode& node : n->nodes) {
        if (is_picking(node) || !has_lanes(node.dtype)) return std::nullopt;
        cost_of_point += cost(node);
      }
      return cost_of_point * product(n->extents, lanes_.size(), n->extents.size());
    }
    const std::optional<Instr> in = instr_of(k);
    if (!in || (in->op != Op::dot_general && in->op != Op::concat && in->op != Op::pad)) return std::nullopt;
    if (!has_lanes(low_.sources[k].in[0].dtype)) return std::nullopt;
    if (in->op == Op::dot_general) return cost_of_product(*in);
    const Dims to = dims(in->result());
    if (!begins_with_lanes(to)) return std::nullopt;
    return product(to, lanes_.size(), to.size());
  }

  std::optional<std::int64_t> cost_of_product(const Instr& in) const {
    const Dims to = dims(in.result());
    const std::size_t own = dims_of_first(in);
    const std::optional<std::size_t> first = lanes_of_product(to, own, lanes_);
    if (!first) return std::nullopt;
    const std::int64_t before = product(to, 0, *first), behind = product(to, *first + lanes_.size(), to.size());
    std::int64_t chain = 1;
    for (std::int64_t a : t_.attrs.get_ints_at(in.attrs, Key::contract, 0))
      chain = std::min(chain * dims(in.operands[0])[static_cast<std::size_t>(a)], kMostChain + 1);
    if (before * behind > kMostOfProduct || chain > kMostChain || before * behind * chain > kMostSteps)
      return std::nullopt;
    const std::size_t batched = t_.attrs.get_ints_at(in.attrs, Key::batch, 0).size();
    if (batched > 0 && before * behind > kMostBeside &&  // whole tiles of gemm.h
        product(to, batched, to.size()) >= kLeastLanes * before * behind)
      return std::nullopt;
    if (batched == 0) {  // one matrix for all lanes
      const std::int64_t shared = *first == 0 ? product(to, std::max(own, lanes_.size()), to.size()) : before;
      if (shared > kMostShared || before * behind > 2 * kMostShared) return std::nullopt;
    }
    return before * behind * chain;
  }

  // What has a way to `seed` through items over its lanes, near ones first.
  void find_members(std::uint32_t seed) {
    members_.assign(1, seed);
    state_[seed] = State::Member;
    std::int64_t cost = *cost_of(seed);
    const auto add = [&](std::uint32_t k) {
      if (k == kNobody || state_[k] != State::Apart || members_.size() >= kMostMembers) return;
      if (std::max(at_[k], at_[seed]) - std::min(at_[k], at_[seed]) > kFarthestItem) return;
      const std::optional<std::int64_t> more = cost_of(k);
      if (!more || cost + *more > kMostCost) return;
      cost += *more;
      members_.push_back(k);
      state_[k] = State::Member;
    };
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const FuseItem& item = low_.items[members_[m]];
      for_each_write(item, [&](std::uint32_t b) {
        if (readers_[b].size() <= kFarthestItem) std::ranges::for_each(readers_[b], add);
      });
      for_each_read(item, [&](std::uint32_t b) { add(writer_[b]); });
    }
  }

  // Members that no other step must stand between are left, in their order. Of all items from the first member to the
  // last, the others go before the nest, or behind it where they wait for it.
  void keep_together(std::vector<std::uint32_t>& before, std::vector<std::uint32_t>& behind) {
    std::ranges::sort(members_, {}, [&](std::uint32_t k) { return at_[k]; });
    const std::uint32_t first = at_[members_.front()], last = at_[members_.back()];
    const std::uint32_t in_nest = ++stamp_, late = ++stamp_;
    members_.clear();
    bool has_opaque = false;
    for (std::uint32_t p = first; p <= last; ++p) {
      const std::uint32_t k = order_[p];
      if (state_[k] == State::Gone) {
        before.push_back(k);
        continue;
      }
      bool waits = false, reads = false;
      for_each_read(low_.items[k], [&](std::uint32_t b) {
        waits = waits || mark_[b] == late;
        reads = reads || mark_[b] == in_nest;
      });
      const bool is_member = state_[k] == State::Member && !waits;
      if (state_[k] == State::Member && waits) state_[k] = State::Apart;
      const bool is_late = !is_member && (waits || reads || (has_opaque && !low_.items[k].nest));
      has_opaque = has_opaque || (is_late && !low_.items[k].nest);
      (is_member ? members_ : is_late ? behind : before).push_back(k);
      if (is_member || is_late)
        for_each_write(low_.items[k], [&](std::uint32_t b) { mark_[b] = is_member ? in_nest : late; });
    }
  }

  // What is read outside the members, of what they write.
  std::vector<std::uint32_t> kept() const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t k : members_)
      for_each_write(low_.items[k], [&](std::uint32_t b) {
        if (low_.bases[b].kind == PlanBase::Kind::Result ||
            std::ranges::any_of(readers_[b], [&](std::uint32_t r) { return state_[r] != State::Member; }))
          list.push_back(b);
      });
    return list;
  }

  bool make_nest(std::uint32_t seed) {
    find_members(seed);
    std::vector<std::uint32_t> before, behind;
    const std::uint32_t first = std::ranges::min(members_, {}, [&](std::uint32_t k) { return at_[k]; });
    std::uint32_t place = at_[first];
    keep_together(before, behind);
    std::optional<Nest> nest = unrolled();
    if (!nest) {
      for (std::uint32_t k : members_) state_[k] = State::Apart;
      state_[seed] = State::Made;  // not again
      return false;
    }
    const std::uint32_t made = members_.back();
    for (std::uint32_t k : members_) state_[k] = State::Gone;
    state_[made] = State::Made;
    set_item(made, *std::move(nest));
    const auto put = [&](std::uint32_t k) {
      order_[place] = k;
      at_[k] = place++;
    };
    std::ranges::for_each(before, put);
    std::ranges::for_each(members_, put);
    std::ranges::for_each(behind, put);
    return true;
  }

  std::optional<Nest> unrolled() const {
    Unroller u(t_, flat_, low_, plan_, lanes_);
    if (!u.run(members_, kept())) return std::nullopt;
    Nest n = u.take();
    std::vector<std::uint32_t> bases;
    for (const NestNode& node : n.nodes)
      if (node.kind == NestNodeKind::Load) bases.push_back(n.accesses[node.access].base);
    for (const Store& s : n.stores) bases.push_back(s.to.base);
    std::ranges::sort(bases);
    const auto more = std::ranges::unique(bases);
    const std::size_t count = bases.size() - more.size();
    return n.stores.empty() || count > NestStep::kMaxBases ? std::nullopt : std::optional(std::move(n));
  }

  // Fusion takes it for a step that it doesn't know: it has many stores into a base, where others have one.
  void set_item(std::uint32_t k, Nest nest) {
    FuseItem item{std::nullopt, {}, {}, {}};
    const FuseItem whole{nest, {}, {}, {}};
    for_each_read(whole, [&](std::uint32_t b) { item.reads.push_back(b); });
    for_each_write(whole, [&](std::uint32_t b) { item.writes.push_back(b); });
    for (auto* list : {&item.reads, &item.writes}) {
      std::ranges::sort(*list);
      list->erase(std::ranges::unique(*list).begin(), list->end());
    }
    low_.items[k] = std::move(item);
    ItemSource& s = low_.sources[k];
    s = {s.origin, flat_.body.num_instrs(), {}, {}, {}, false, std::move(nest)};
  }

  void settle() {
    std::vector<FuseItem> items;
    std::vector<ItemSource> sources;
    for (std::uint32_t k : order_) {
      if (state_[k] == State::Gone) continue;
      items.push_back(std::move(low_.items[k]));
      sources.push_back(std::move(low_.sources[k]));
    }
    low_.items = std::move(items);
    low_.sources = std::move(sources);
  }

  const Tables& t_;
  const FlatBody& flat_;
  const Plan& plan_;
  Lowered& low_;
  std::vector<std::vector<std::uint32_t>> readers_;  // per base
  std::vector<std::uint32_t> writer_, mark_;
  std::vector<State> state_;               // per item
  std::vector<std::uint32_t> order_, at_;  // items as they will be, and the places of items in it
  std::uint32_t stamp_ = 0;
  Strides lanes_;
  std::vector<std::uint32_t> members_;
};

}  // namespace

void over_lanes(const Tables& t, const FlatBody& flat, const Plan& plan, Lowered& low) {
  LaneRuns(t, flat, plan, low).run();
}

void put_lane_nests(std::vector<FuseItem>& items, Lowered& low) {
  for (FuseItem& item : items) {
    if (item.nest || !low.sources[item.origins.front()].over_lanes) continue;
    item.nest = std::move(low.sources[item.origins.front()].over_lanes);
    item.reads.clear();
    item.writes.clear();
  }
}

}  // namespace tfvm
