// Readers before updates: see readers_first.
#include <algorithm>

#include "transforms/simplify/failures.h"
#include "vm/plan/items.h"
#include "vm/plan/updates.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kReach = 1000;  // items, so that the work stays linear

// Might the order of this item and another such be seen from outside?
bool is_observable(const PlanParts& p, const FuseItem& item, Failures& failures) {
  if (item.nest) return false;
  const ItemSource& s = p.low.sources[item.origins.front()];
  const Body& body = p.flat.body;
  return s.instr >= body.num_instrs() || failures.may_fail(body.ops[s.instr], body.attrs[s.instr]);
}

// Do both fail for an index out of bounds, at the same places? Then the second adds nothing to what can be observed but
// which of two ops is named.
bool same_check(const PlanParts& p, const FuseItem& a, const FuseItem& b) {
  if (a.nest || b.nest) return false;
  const ItemSource &s = p.low.sources[a.origins.front()], &t = p.low.sources[b.origins.front()];
  const auto index_op = [&](const ItemSource& x) {
    if (x.instr >= p.flat.body.num_instrs() || x.in.size() < 2) return false;
    const Op op = p.flat.body.ops[x.instr];
    return op == Op::scatter_along || op == Op::take_along || op == Op::scatter || op == Op::gather;
  };
  if (!index_op(s) || !index_op(t)) return false;
  const Access &i = s.in[1], &j = t.in[1];
  return i.base == j.base && i.offset == j.offset && i.strides == j.strides;
}

// Moves items[at] and what depends on it, up to items[last], behind all others of that range. False: not possible.
bool move_behind(const PlanParts& p, std::vector<FuseItem>& items, std::uint32_t at, std::uint32_t last,
                 std::uint32_t old, Failures& failures, std::vector<std::uint8_t>& late) {
  std::vector<std::uint8_t> moves(last - at + 1, 0);
  std::vector<std::uint32_t> written;
  bool possible = true, seen[2] = {false, false};
  for (std::uint32_t i = at; i <= last; ++i) {
    bool depends = i == at, reads_old = false;
    for_each_read(items[i], [&](std::uint32_t b) {
      depends = depends || late[b] != 0;
      reads_old = reads_old || b == old;
    });
    possible = possible && !(depends && reads_old && i != at);
    const bool shows = is_observable(p, items[i], failures) && (i == at || !same_check(p, items[at], items[i]));
    seen[depends ? 1 : 0] = seen[depends ? 1 : 0] || shows;
    if (!depends) continue;
    moves[i - at] = 1;
    for_each_write(items[i], [&](std::uint32_t b) {
      late[b] = 1;
      written.push_back(b);
    });
  }
  for (std::uint32_t b : written) late[b] = 0;
  if (!possible || (seen[0] && seen[1])) return false;
  std::vector<FuseItem> stay, go;
  for (std::uint32_t i = at; i <= last; ++i) (moves[i - at] ? go : stay).push_back(std::move(items[i]));
  std::ranges::move(stay, items.begin() + at);
  std::ranges::move(go, items.begin() + at + static_cast<std::ptrdiff_t>(stay.size()));
  return true;
}

// The operand of an opaque item that it could update in place, were it not read later; kNoIndex if there is none.
std::uint32_t blocked_operand(const PlanParts& p, const FuseItem& item, std::uint32_t i, const BaseUses& uses) {
  for (std::uint32_t from : item.reads) {
    const std::uint32_t last = uses.last_read[from];
    const PlanBase::Kind kind = p.low.bases[from].kind;
    if (last <= i + 1 || last > i + kReach || (kind != PlanBase::Kind::Param && kind != PlanBase::Kind::Slot)) continue;
    for (std::uint32_t to : item.writes)
      if (updates_in_place(p, item, from, to)) return from;
  }
  return kNoIndex;
}

}  // namespace

void refresh(std::span<const FuseItem> items, std::uint32_t at, std::uint32_t last, BaseUses& uses) {
  for (std::uint32_t i = at; i <= last; ++i) {
    for_each_write(items[i], [&](std::uint32_t b) { uses.writer[b] = i + 1; });
    for_each_read(items[i], [&](std::uint32_t b) {
      if (uses.last_read[b] <= last + 1) uses.last_read[b] = 0;
    });
  }
  for (std::uint32_t i = at; i <= last; ++i)
    for_each_read(items[i], [&](std::uint32_t b) { uses.last_read[b] = std::max(uses.last_read[b], i + 1); });
}

void readers_first(const PlanParts& p, std::vector<FuseItem>& items) {
  BaseUses uses = find_uses(p.low, items);
  Failures failures(p.t);
  std::vector<std::uint8_t> late(p.low.bases.size(), 0), tried(p.low.sources.size(), 0);
  for (std::uint32_t i = 0; i < items.size();) {
    const std::uint32_t source = items[i].origins.front();
    const std::uint32_t old = items[i].nest || tried[source] ? kNoIndex : blocked_operand(p, items[i], i, uses);
    const std::uint32_t last = old == kNoIndex ? 0 : uses.last_read[old] - 1;
    if (old != kNoIndex) tried[source] = 1;  // once, or two updates could go on changing places
    if (old != kNoIndex && move_behind(p, items, i, last, old, failures, late))
      refresh(items, i, last, uses);  // another item stands at i now
    else
      ++i;
  }
}

}  // namespace tfvm
