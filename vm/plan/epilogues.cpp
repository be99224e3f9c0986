#include "vm/plan/epilogues.h"

#include <algorithm>

#include "jit/region/edit.h"
#include "vm/plan/items.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kReach = 64;  // items that a nest moves up

// The elements of `base`, a matrix of so many elements in row-major order, are what the nest loads at its points.
bool goes_along(const Nest& nest, std::uint32_t base, std::int64_t elements) {
  if (nest.has_reduction() || points(nest) != elements) return false;
  bool loads = false;
  for (const NestNode& n : nest.nodes) {
    if (n.kind != NestNodeKind::Load || nest.accesses[n.access].base != base) continue;
    const Access& a = nest.accesses[n.access];
    if (is_picking(n) || a.offset != 0 || !is_row_major(nest, a)) return false;
    loads = true;
  }
  return loads;
}

class Finder {
 public:
  Finder(const PlanParts& p, std::vector<FuseItem>& items, std::int64_t large)
      : p_(p), items_(items), large_(std::max<std::int64_t>(large, 1)), uses_(find_uses(p.low, items)) {}

  std::vector<std::uint8_t> run() {
    std::vector<std::uint8_t> found(items_.size(), 0);
    for (std::uint32_t i = 0; i + 1 < items_.size(); ++i) {
      if (items_[i].nest) continue;
      const Kernel& kernel = p_.low.sources[items_[i].origins.front()].kernel;
      if (kernel.rows * kernel.cols < large_ || items_[i].writes.size() != 1) continue;
      const std::uint32_t last = std::min(static_cast<std::uint32_t>(items_.size()), i + 1 + kReach);
      for (std::uint32_t j = i + 1; j < last && !found[i]; ++j) {
        if (!items_[j].nest || !goes_along(*items_[j].nest, items_[i].writes[0], kernel.rows * kernel.cols)) continue;
        if (!is_ready(j, i) || takes_over(i, j)) continue;
        const auto at = items_.begin() + i + 1;
        std::rotate(at, items_.begin() + j, items_.begin() + j + 1);
        refresh(items_, i + 1, j, uses_);
        found[i] = 1;
      }
    }
    return found;
  }

 private:
  bool is_ready(std::uint32_t nest, std::uint32_t product) const {
    bool ready = true;
    for_each_read(items_[nest], [&](std::uint32_t b) { ready = ready && uses_.writer[b] <= product + 1; });
    return ready;
  }
  // Whether the nest may write a result in the memory of a parameter that nobody needs after the product: the caller
  // may have given both the same.
  bool takes_over(std::uint32_t product, std::uint32_t nest) const {
    bool takes = false;
    for_each_read(items_[product], [&](std::uint32_t from) {
      const PlanBase& b = p_.low.bases[from];
      if (b.kind != PlanBase::Kind::Param || uses_.last_read[from] > nest + 1) return;
      for_each_write(items_[nest], [&](std::uint32_t to) {
        const PlanBase& r = p_.low.bases[to];
        takes = takes || (r.kind == PlanBase::Kind::Result && r.bytes == b.bytes);
      });
    });
    return takes;
  }

  const PlanParts& p_;
  std::vector<FuseItem>& items_;
  std::int64_t large_;
  BaseUses uses_;
};

}  // namespace

std::vector<std::uint8_t> find_epilogues(const PlanParts& parts, std::vector<FuseItem>& items, std::int64_t large) {
  return Finder(parts, items, large).run();
}

void keep_operands(std::span<const FuseItem> items, std::span<const std::uint8_t> epilogues, BaseUses& uses) {
  for (std::uint32_t i = 0; i < epilogues.size(); ++i) {
    if (!epilogues[i]) continue;
    for_each_read(items[i], [&](std::uint32_t b) { uses.last_read[b] = std::max(uses.last_read[b], i + 3); });
  }
}

}  // namespace tfvm
