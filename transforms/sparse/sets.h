#pragma once
// Sets of input elements, hash-consed: sorted lists of disjoint intervals, so that a diagonal, a band and a sum of
// everything are short alike. Equal sets have equal ids; unions of two are remembered.

#include <cstdint>
#include <span>
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
  Sets();
  SetId of(std::uint32_t begin, std::uint32_t end);
  SetId unite(SetId a, SetId b);
  // Reorders `ids`.
  SetId unite(std::span<SetId> ids);
  std::span<const Interval> operator[](SetId s) const {
    return {pool_.data() + begin_[s], pool_.data() + begin_[s + 1]};
  }

 private:
  // Open addressing: time stays linear where there are more sets than the caches hold.
  struct Slot {
    std::uint32_t hash = 0;
    SetId id = kNone;
  };
  struct Union {
    std::uint64_t pair = 0;  // the lesser id above the greater one; 0: free, for unions with the empty set are not kept
    SetId id = kEmptySet;
  };
  static constexpr SetId kNone = static_cast<SetId>(-1);

  SetId intern(std::span<const Interval> intervals);  // sorted, disjoint, not touching
  SetId merge();                                      // scratch_, in any order
  std::span<const Interval> at(SetId s) const { return (*this)[s]; }
  std::size_t size() const { return begin_.size() - 1; }
  void grow();
  Union& find_union(std::uint64_t pair);

  std::vector<Interval> pool_, scratch_;
  std::vector<std::size_t> begin_{0};
  std::vector<Slot> slots_;  // sizes are powers of two
  std::vector<Union> unions_;
  std::size_t num_unions_ = 0;
};

}  // namespace tfvm
