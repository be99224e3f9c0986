#include "vm/plan/fusion_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "jit/region/fuse_notes.h"
#include "vm/plan/items.h"
#include "vm/plan/walk.h"

namespace tfvm {

namespace {

class Notes {
 public:
  Notes(const PlanParts& parts, const std::vector<FuseItem>& before, const std::vector<FuseItem>& items)
      : p_(parts), before_(before), items_(items) {}

  // `product`: what the nest is the epilogue of, if anything.
  PlanFusion group(const FuseItem& item, const FuseItem* product) const {
    PlanFusion out;
    if (product) add(out, product->origins.front());
    for (std::uint32_t source : item.origins) add(out, source);
    for (const Store& s : item.nest->stores) out.bytes += p_.low.bases[s.to.base].bytes;
    for (const Reduction& r : item.nest->reductions) out.bytes += p_.low.bases[r.to.base].bytes;
    return out;
  }

  PlanFusion miss(const MissedFusion& m) const {
    PlanFusion out;
    out.why = m.why;
    out.bytes = p_.low.bases[m.base].bytes;
    add(out, writer_of(m.base, items_[m.writer]));
    add(out, reader_of(m.base, items_[m.reader]));
    return out;
  }

 private:
  // Of the items that went into this one, that which writes the base, and the first that reads it.
  std::uint32_t writer_of(std::uint32_t base, const FuseItem& item) const {
    for (std::uint32_t k : item.origins) {
      bool found = false;
      for_each_write(before_[k], [&](std::uint32_t b) { found = found || b == base; });
      if (found) return k;
    }
    return item.origins.back();
  }
  std::uint32_t reader_of(std::uint32_t base, const FuseItem& item) const {
    for (std::uint32_t k : item.origins) {
      bool found = false;
      for_each_read(before_[k], [&](std::uint32_t b) { found = found || b == base; });
      if (found) return k;
    }
    return item.origins.front();
  }

  void add(PlanFusion& out, std::uint32_t source) const {
    const ItemSource& s = p_.low.sources[source];
    const bool is_instr = s.instr < p_.flat.body.num_instrs();
    const Op other = s.over_lanes ? Op::dot_general : Op::clone;  // a copy into a result
    out.parts.push_back({s.origin, is_instr ? p_.flat.body.ops[s.instr] : other});
  }

  const PlanParts& p_;
  const std::vector<FuseItem>&before_, &items_;
};

}  // namespace

void note_fusion(const PlanParts& parts, const std::vector<FuseItem>& before, const std::vector<FuseItem>& items,
                 std::span<const std::uint8_t> epilogues, const FuseOptions& options, Plan& plan) {
  const Notes notes(parts, before, items);
  const auto is_product = [&](std::size_t k) { return k < epilogues.size() && epilogues[k]; };
  for (std::size_t k = 0; k < items.size(); ++k)
    if (items[k].nest)
      plan.fusion.push_back(notes.group(items[k], k > 0 && is_product(k - 1) ? &items[k - 1] : nullptr));
  for (const MissedFusion& m : missed_fusions(items, parts.low.bases.size(), options))
    if (!is_product(m.writer) || m.reader != m.writer + 1) plan.fusion.push_back(notes.miss(m));
}

std::vector<FusionEntry> fusion_of(const Tables& t, const Plan& plan) {
  std::vector<FusionEntry> out;
  for_each_plan(plan, [&](const Plan& p) {
    for (const PlanFusion& f : p.fusion) {
      FusionEntry& e = out.emplace_back();
      e.missed = !f.why.empty();
      e.why = f.why;
      e.bytes = f.bytes;
      for (const PlanFusion::Part& part : f.parts)
        e.parts.push_back({std::string(name(part.op)), t.debugs.find_loc(part.origin.debug, part.origin.instr)});
    }
  });
  return out;
}

std::string text(const FusionEntry& e) {
  std::string s = e.missed ? "missed: " : "group: ";
  for (std::size_t k = 0; k < e.parts.size(); ++k) {
    const FusionEntry::Part& p = e.parts[k];
    s += (k ? ", " : "") + (p.loc.line ? fmt::format("{} line {}", p.op, p.loc.line) : p.op);
  }
  if (e.missed) return s + fmt::format(": {}; {} bytes go through memory", e.why, e.bytes);
  return s + fmt::format("; writes {} bytes", e.bytes);
}

}  // namespace tfvm
