#include "jit/region/fuse_notes.h"

#include <set>

namespace tfvm {

namespace {

// Calls fn(base) on every base that the item reads.
template <class Fn>
void for_each_load(const FuseItem& item, Fn fn) {
  for (std::uint32_t b : item.reads) fn(b);
  if (!item.nest) return;
  for (const NestNode& n : item.nest->nodes)
    if (n.kind == NestNodeKind::Load) fn(item.nest->accesses[n.access].base);
}

std::string why(const std::vector<FuseItem>& items, std::uint32_t writer, std::uint32_t reader, const FuseOptions& o) {
  const FuseItem &w = items[writer], &r = items[reader];
  if (!w.nest) return "a kernel makes it";
  if (!r.nest) return "a kernel reads it";
  if (!o.enabled) return "fusion is off";
  std::string apart = why_apart(*w.nest, *r.nest, o);
  return apart.empty() ? "what stands between them keeps them apart" : apart;
}

}  // namespace

std::vector<MissedFusion> missed_fusions(const std::vector<FuseItem>& items, std::size_t bases,
                                         const FuseOptions& options) {
  std::vector<std::uint32_t> written_by(bases, kNoNode);
  std::vector<MissedFusion> out;
  for (std::uint32_t k = 0; k < items.size(); ++k) {
    std::set<std::uint32_t> read;
    for_each_load(items[k], [&](std::uint32_t b) { read.insert(b); });
    for (std::uint32_t b : read)
      if (const std::uint32_t w = written_by[b]; w != kNoNode && w != k && (items[w].nest || items[k].nest))
        out.push_back({b, w, k, why(items, w, k, options)});
    for (std::uint32_t b : items[k].writes) written_by[b] = k;
    if (!items[k].nest) continue;
    for (const Store& s : items[k].nest->stores) written_by[s.to.base] = k;
    for (const Reduction& r : items[k].nest->reductions) written_by[r.to.base] = k;
  }
  return out;
}

}  // namespace tfvm
