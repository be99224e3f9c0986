#include "transforms/sparse/sets.h"

#include <algorithm>

#include "bytecode/hash.h"

namespace tfvm {

namespace {

std::uint32_t hash(std::span<const Interval> intervals) {
  std::uint64_t h = intervals.size();
  for (const Interval& i : intervals) h = hash_mix(h, std::uint64_t{i.begin} << 32 | i.end);
  return static_cast<std::uint32_t>(h);
}

}  // namespace

Sets::Sets() : slots_(64), unions_(64) { intern({}); }

SetId Sets::of(std::uint32_t begin, std::uint32_t end) {
  const Interval one{begin, end};
  return intern(begin < end ? std::span(&one, 1) : std::span<const Interval>());
}

void Sets::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& s : old) {
    if (s.id == kNone) continue;
    std::size_t i = s.hash & mask;
    while (slots_[i].id != kNone) i = (i + 1) & mask;
    slots_[i] = s;
  }
}

SetId Sets::intern(std::span<const Interval> intervals) {
  const std::uint32_t h = hash(intervals);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = h & mask;
  for (; slots_[i].id != kNone; i = (i + 1) & mask)
    if (slots_[i].hash == h && std::ranges::equal(at(slots_[i].id), intervals)) return slots_[i].id;
  const auto id = static_cast<SetId>(size());
  slots_[i] = {h, id};
  pool_.insert(pool_.end(), intervals.begin(), intervals.end());
  begin_.push_back(pool_.size());
  if (2 * size() > slots_.size()) grow();
  return id;
}

SetId Sets::merge() {
  std::vector<Interval>& v = scratch_;
  std::ranges::sort(v, {}, &Interval::begin);
  std::size_t n = 0;
  for (const Interval& i : v) {
    if (n != 0 && i.begin <= v[n - 1].end)
      v[n - 1].end = std::max(v[n - 1].end, i.end);
    else
      v[n++] = i;
  }
  v.resize(n);
  return intern(v);
}

Sets::Union& Sets::find_union(std::uint64_t pair) {
  const std::size_t mask = unions_.size() - 1;
  std::size_t i = hash_mix(0, pair) & mask;
  while (unions_[i].pair != 0 && unions_[i].pair != pair) i = (i + 1) & mask;
  return unions_[i];
}

SetId Sets::unite(SetId a, SetId b) {
  if (a == b || b == kEmptySet) return a;
  if (a == kEmptySet) return b;
  if (a > b) std::swap(a, b);
  const std::uint64_t pair = std::uint64_t{a} << 32 | b;
  Union& known = find_union(pair);
  if (known.pair != 0) return known.id;
  scratch_.assign(at(a).begin(), at(a).end());
  scratch_.insert(scratch_.end(), at(b).begin(), at(b).end());
  const SetId id = merge();
  known = {pair, id};
  if (2 * ++num_unions_ > unions_.size()) {
    std::vector<Union> old(2 * unions_.size());
    old.swap(unions_);
    for (const Union& u : old)
      if (u.pair != 0) find_union(u.pair) = u;
  }
  return id;
}

SetId Sets::unite(std::span<SetId> ids) {
  std::ranges::sort(ids);
  const auto end = std::unique(ids.begin(), ids.end());
  const auto n = static_cast<std::size_t>(end - ids.begin());
  if (n == 0) return kEmptySet;
  if (n <= 2) return unite(ids[0], ids[n - 1]);
  scratch_.clear();
  for (SetId s : ids.first(n)) scratch_.insert(scratch_.end(), at(s).begin(), at(s).end());
  return merge();
}

}  // namespace tfvm
