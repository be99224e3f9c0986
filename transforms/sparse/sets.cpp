#include "transforms/sparse/sets.h"

#include <algorithm>

#include "bytecode/hash.h"

namespace tfvm {

SetId Sets::of(std::uint32_t begin, std::uint32_t end) {
  const Interval one{begin, end};
  return intern(begin < end ? std::span(&one, 1) : std::span<const Interval>());
}

SetId Sets::intern(std::span<const Interval> intervals) {
  std::uint64_t h = intervals.size();
  for (const Interval& i : intervals) h = hash_mix(h, std::uint64_t{i.begin} << 32 | i.end);
  const auto [first, last] = ids_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (std::ranges::equal((*this)[it->second], intervals)) return it->second;
  const auto id = static_cast<SetId>(begin_.size() - 1);
  pool_.insert(pool_.end(), intervals.begin(), intervals.end());
  begin_.push_back(pool_.size());
  ids_.emplace(h, id);
  return id;
}

SetId Sets::merge(std::vector<Interval>& v) {
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

SetId Sets::unite(SetId a, SetId b) {
  if (a == b || b == kEmptySet) return a;
  if (a == kEmptySet) return b;
  if (a > b) std::swap(a, b);
  const std::uint64_t key = std::uint64_t{a} << 32 | b;
  if (const auto it = unions_.find(key); it != unions_.end()) return it->second;
  std::vector<Interval> v((*this)[a].begin(), (*this)[a].end());
  v.insert(v.end(), (*this)[b].begin(), (*this)[b].end());
  return unions_[key] = merge(v);
}

SetId Sets::unite(std::span<SetId> ids) {
  std::ranges::sort(ids);
  const auto end = std::unique(ids.begin(), ids.end());
  const auto n = static_cast<std::size_t>(end - ids.begin());
  if (n == 0) return kEmptySet;
  if (n <= 2) return unite(ids[0], ids[n - 1]);
  std::vector<Interval> v;
  for (SetId s : ids.first(n)) v.insert(v.end(), (*this)[s].begin(), (*this)[s].end());
  return merge(v);
}

}  // namespace tfvm
