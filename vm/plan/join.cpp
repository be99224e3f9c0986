#include "vm/plan/join.h"

#include <algorithm>

#include "vm/plan/items.h"

namespace tfvm {

namespace {

class Joiner {
 public:
  Joiner(const PlanParts& p, std::span<const FuseItem> items)
      : p_(p), writer_(p.low.bases.size(), kNoIndex), pieces_(p.low.bases.size()), items_(items) {
    for (std::uint32_t i = 0; i < items.size(); ++i) for_each_write(items[i], [&](std::uint32_t b) { writer_[b] = i; });
  }

  bool join(const FuseItem& item) {
    const ItemSource* const concat = concat_of(p_, item);
    if (!concat) return false;
    const ItemSource& s = *concat;
    const Instr in = p_.flat.body.instr(s.instr);
    const Dims dims = p_.t.types.dims(p_.flat.body.type(in.result()));
    const auto axis = p_.t.attrs.get_int(in.attrs, Key::axis);
    if (std::any_of(dims.begin(), dims.begin() + axis, [](std::int64_t d) { return d != 1; })) return false;
    for (std::size_t k = 0; k < s.in.size(); ++k)
      if (!may_move(s.in[k], in.operands[k]) || is_taken(s.in, k)) return false;
    std::int64_t at = 0;
    for (const Access& a : s.in) {
      pieces_[a.base] = {s.out[0], at};
      at += p_.low.bases[a.base].bytes;
    }
    return true;
  }

  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  // All of a value, in memory of its own.
  bool may_move(const Access& a, ValueId v) const {
    if (!is_value_of_its_own(p_, a, v) || pieces_[a.base].whole != kNoIndex || writer_[a.base] == kNoIndex)
      return false;
    const FuseItem& from = items_[writer_[a.base]];
    if (from.nest) return true;
    const ItemSource& s = p_.low.sources[from.origins.front()];
    return s.instr < p_.flat.body.num_instrs() && info(p_.flat.body.ops[s.instr]).kind != OpKind::Control;
  }
  static bool is_taken(std::span<const Access> list, std::size_t k) {
    return std::any_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(k),
                       [&](const Access& a) { return a.base == list[k].base; });
  }

  const PlanParts& p_;
  std::vector<std::uint32_t> writer_;  // item, per base
  std::vector<Piece> pieces_;
  std::span<const FuseItem> items_;
};

}  // namespace

const ItemSource* concat_of(const PlanParts& p, const FuseItem& item) {
  if (item.nest) return nullptr;
  const ItemSource& s = p.low.sources[item.origins.front()];
  const bool is_concat = !s.is_check && s.instr < p.flat.body.num_instrs() && p.flat.body.ops[s.instr] == Op::concat;
  return is_concat ? &s : nullptr;
}

bool is_value_of_its_own(const PlanParts& p, const Access& a, ValueId v) {
  const PlanBase& base = p.low.bases[a.base];
  const TypeId type = p.flat.body.type(v);
  return base.kind == PlanBase::Kind::Slot && a.offset == 0 && base.bytes == p.t.types.bytes(type) &&
         is_dense(a, p.t.types.dims(type));
}

std::vector<Piece> join_pieces(const PlanParts& parts, std::vector<FuseItem>& items,
                               std::vector<std::uint8_t>& epilogues) {
  Joiner joiner(parts, items);
  std::size_t kept = 0;
  std::vector<std::uint8_t> is_joined;
  for (const FuseItem& item : items) is_joined.push_back(joiner.join(item));
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (is_joined[k]) continue;
    if (kept != k) {
      items[kept] = std::move(items[k]);
      if (!epilogues.empty()) epilogues[kept] = epilogues[k];
    }
    ++kept;
  }
  if (kept == items.size()) return {};
  items.resize(kept);
  if (!epilogues.empty()) epilogues.resize(kept);
  return joiner.take();
}

void join_uses(std::span<const Piece> pieces, BaseUses& uses) {
  for (std::uint32_t b = 0; b < pieces.size(); ++b) {
    std::uint32_t w = b;
    while (pieces[w].whole != kNoIndex) w = pieces[w].whole;
    if (w == b) continue;
    if (uses.writer[b] > 0)
      uses.writer[w] = uses.writer[w] > 0 ? std::min(uses.writer[w], uses.writer[b]) : uses.writer[b];
    uses.last_read[w] = std::max(uses.last_read[w], uses.last_read[b]);
  }
  for (std::uint32_t b = 0; b < pieces.size(); ++b)
    if (pieces[b].whole != kNoIndex) uses.last_read[b] = kNoIndex;
}

}  // namespace tfvm
