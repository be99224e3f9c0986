#pragma once
// Sets of input elements, hash-consed: sorted lists of disjoint intervals, so that a diagonal, a band and a sum of
// everything are short alike. Equal sets have equal ids; unions of two are remembered.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tfvm {

using SetId = std::uint32_t;
inline constexpr SetId kEmptySet = 0;

struct Interval {
  std::uint32_t begin, end;  // [begin, end), begin < end
  friend bool operator==(const Interval&, const Interval&) = default;
};

class Sets {
 public:
  Sets() { intern({}); }
  SetId of(std::uint32_t begin, std::uint32_t end);
  SetId unite(SetId a, SetId b);
  // Reorders `ids`.
  SetId unite(std::span<SetId> ids);
  std::span<const Interval> operator[](SetId s) const {
    return {pool_.data() + begin_[s], pool_.data() + begin_[s + 1]};
  }

 private:
  SetId intern(std::span<const Interval> intervals);  // sorted, disjoint, not touching
  SetId merge(std::vector<Interval>& intervals);      // any
  std::vector<Interval> pool_;
  std::vector<std::size_t> begin_{0};
  std::unordered_multimap<std::uint64_t, SetId> ids_;
  std::unordered_map<std::uint64_t, SetId> unions_;
};

}  // namespace tfvm
