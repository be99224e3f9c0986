#pragma once
// Values that are known when a plan is made, as all that they are made from is constant: a step computes them for the
// last time there. The builder folds what is small; this is for what is too large to stand in the text.

#include <cstddef>
#include <vector>

#include "vm/plan/lower.h"

namespace tfvm {

class Known {
 public:
  Known(const Tables& t, Lowered& low);
  // Row-major elements of a base; null where they aren't known.
  const std::byte* find(std::uint32_t base);
  // A base of these bytes.
  std::uint32_t add(std::vector<std::byte> bytes);
  // The item has become a nest.
  void opened(std::uint32_t item);
  // The item has nothing to do any more.
  void drop(std::uint32_t item) { done_[item] = 1; }
  // Computes what readers take at other points than it is written at (fused, an op costs less than its value in
  // memory), and drops items that have nothing to do any more.
  void settle();

 private:
  bool is_constant(std::uint32_t base) const;
  bool is_known(std::uint32_t base) const;
  bool can_evaluate(const Nest& nest) const;
  bool evaluate(const Nest& nest);
  bool reads_apart(const FuseItem& reader, std::uint32_t base) const;
  void erase_done();

  const Tables& t_;
  Lowered& low_;
  std::vector<std::uint32_t> writer_;     // per base: the item, kNoNode
  std::vector<std::uint8_t> can_, done_;  // per item: it may be evaluated, and it is
};

}  // namespace tfvm
