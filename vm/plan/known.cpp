#include "vm/plan/known.h"

#include <algorithm>

#include "jit/region/edit.h"
#include "jit/region/run.h"
#include "vm/float_mode.h"
#include "vm/plan/items.h"
#include "vm/storage.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMostBytes = 1 << 14;  // of a value: what leaves the nearest cache to others
constexpr std::int64_t kMostWork = 1 << 16;   // of an item, in nodes

}  // namespace

Known::Known(const Tables& t, Lowered& low)
    : t_(t), low_(low), writer_(low.bases.size(), kNoNode), can_(low.items.size(), 0), done_(low.items.size(), 0) {
  for (std::uint32_t k = 0; k < low.items.size(); ++k) {
    for_each_write(low.items[k], [&](std::uint32_t b) { writer_[b] = k; });
    if (low.items[k].nest) opened(k);
  }
}

void Known::opened(std::uint32_t item) { can_[item] = can_evaluate(*low_.items[item].nest); }

std::uint32_t Known::add(std::vector<std::byte> bytes) {
  low_.bases.push_back(
      {PlanBase::Kind::Made, static_cast<std::uint32_t>(low_.made.size()), static_cast<std::int64_t>(bytes.size())});
  low_.made.push_back(std::move(bytes));
  writer_.push_back(kNoNode);
  return static_cast<std::uint32_t>(low_.bases.size() - 1);
}

bool Known::is_constant(std::uint32_t base) const {
  const PlanBase::Kind kind = low_.bases[base].kind;
  return kind == PlanBase::Kind::Const || kind == PlanBase::Kind::Made;
}

bool Known::is_known(std::uint32_t base) const {
  return is_constant(base) || (writer_[base] != kNoNode && can_[writer_[base]]);
}

// Constants alone are no value worth memory.
bool Known::can_evaluate(const Nest& nest) const {
  if (work_of(nest) > kMostWork) return false;
  const auto fits = [&](std::uint32_t base) {
    const PlanBase& b = low_.bases[base];
    return b.kind == PlanBase::Kind::Slot && b.bytes <= kMostBytes;
  };
  bool changes = false;
  for (const NestNode& n : nest.nodes) {
    if (is_complex(n.dtype)) return false;
    if (n.kind == NestNodeKind::Load && !is_known(nest.accesses[n.access].base)) return false;
    changes = changes || n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota;
  }
  return changes && std::ranges::all_of(nest.stores, [&](const Store& s) { return fits(s.to.base); }) &&
         std::ranges::all_of(nest.reductions, [&](const Reduction& r) { return fits(r.to.base); });
}

// By the block interpreter: its bits are those of every tier.
bool Known::evaluate(const Nest& nest) {
  Result<NestCodePtr> code = prepare(nest);
  if (!code) return false;
  std::vector<std::byte*> bases(low_.bases.size(), nullptr);
  for (const NestNode& n : nest.nodes)
    if (n.kind == NestNodeKind::Load) {
      const std::uint32_t b = nest.accesses[n.access].base;
      bases[b] = const_cast<std::byte*>(find(b));  // nests never write to what they only load
    }
  const auto make = [&](std::uint32_t base) {
    PlanBase& b = low_.bases[base];
    if (b.kind == PlanBase::Kind::Made) return;
    b = {PlanBase::Kind::Made, static_cast<std::uint32_t>(low_.made.size()), b.bytes};
    low_.made.emplace_back(static_cast<std::size_t>(b.bytes));
  };
  for (const Store& s : nest.stores) make(s.to.base);
  for (const Reduction& r : nest.reductions) make(r.to.base);
  const auto place = [&](std::uint32_t base) { bases[base] = low_.made[low_.bases[base].index].data(); };
  for (const Store& s : nest.stores) place(s.to.base);
  for (const Reduction& r : nest.reductions) place(r.to.base);
  const StorageRef scratch =
      StorageRef::allocate(nullptr, std::max<std::int64_t>(1, static_cast<std::int64_t>(scratch_bytes(**code))));
  if (!scratch) return false;
  const FloatMode mode;
  return run_nest(**code, bases.data(), scratch->data());
}

const std::byte* Known::find(std::uint32_t base) {
  if (!is_known(base)) return nullptr;
  if (!is_constant(base)) {
    // What it is made from, then in order.
    std::vector<std::uint32_t> needed{writer_[base]};
    for (std::size_t at = 0; at < needed.size(); ++at)
      for_each_read(low_.items[needed[at]], [&](std::uint32_t b) {
        if (!is_constant(b) && std::ranges::find(needed, writer_[b]) == needed.end()) needed.push_back(writer_[b]);
      });
    std::ranges::sort(needed);
    for (std::uint32_t item : needed) {
      if (!evaluate(*low_.items[item].nest)) return nullptr;
      done_[item] = 1;
    }
  }
  const PlanBase& b = low_.bases[base];
  if (b.kind == PlanBase::Kind::Made) return low_.made[b.index].data();
  return t_.consts[static_cast<ConstId>(b.index)].bytes.data();
}

// False: where it is read, it is at hand.
bool Known::reads_apart(const FuseItem& reader, std::uint32_t base) const {
  if (!reader.nest) return true;
  const Nest &to = *reader.nest, &from = *low_.items[writer_[base]].nest;
  if (from.has_reduction() || from.extents != to.extents) return true;
  const auto s = std::ranges::find(from.stores, base, [](const Store& st) { return st.to.base; });
  return std::ranges::any_of(to.nodes, [&](const NestNode& n) {
    if (n.kind != NestNodeKind::Load || to.accesses[n.access].base != base) return false;
    return is_picking(n) || to.accesses[n.access] != s->to;
  });
}

void Known::settle() {
  for (std::uint32_t k = 0; k < low_.items.size(); ++k) {
    if (can_[k] || done_[k]) continue;
    std::vector<std::uint32_t> wanted;
    for_each_read(low_.items[k], [&](std::uint32_t b) {
      if (!is_constant(b) && is_known(b) && reads_apart(low_.items[k], b)) wanted.push_back(b);
    });
    for (std::uint32_t b : wanted) find(b);
  }
  erase_done();
}

void Known::erase_done() {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < low_.items.size(); ++k) {
    if (done_[k]) continue;
    if (kept != k) {
      low_.items[kept] = std::move(low_.items[k]);
      low_.sources[kept] = std::move(low_.sources[k]);
    }
    ++kept;
  }
  low_.items.resize(kept);
  low_.sources.resize(kept);
}

}  // namespace tfvm
