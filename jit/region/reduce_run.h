#pragma once
// The running state of reductions; see reduce.h for the order.

#include <bit>
#include <cstring>

#include "jit/region/window.h"

namespace tfvm {

// Single elements, up to 8 bytes each, combined as they come.
struct CountingTree {
  std::uint64_t occupied = 0;
  std::uint64_t level[kMaxLevels];

  void push(const ReduceFns& f, std::uint64_t value) {
    int k = 0;
    for (; occupied >> k & 1; ++k) f.combine(&value, &level[k], &value, nullptr, 1);
    level[k] = value;
    occupied += 1;  // the carries clear the levels below
  }
  // What is left, lightest first, onto `value` (where there is one that came last).
  std::uint64_t finish(const ReduceFns& f, bool has_value, std::uint64_t value) {
    for (; occupied; occupied &= occupied - 1) {
      const int k = std::countr_zero(occupied);
      if (has_value)
        f.combine(&value, &level[k], &value, nullptr, 1);
      else
        value = level[k];
      has_value = true;
    }
    return value;
  }
};

// Rows mode: values come in loop order; rows end by count.
struct RowState {
  alignas(32) std::uint64_t lanes[kReduceLanes];
  CountingTree blocks, groups;
  std::int64_t in_row, in_block, in_group, in_result, result;
  std::uint64_t group;
};
static_assert(sizeof(RowState) <= kReduceLanes * 8 + 4 * kMaxLevels * 8);

void start_rows(RowState& s, std::int64_t first_result);
void take_values(const WindowRun& run, const ReductionCode& r, RowState& s, const std::byte* v, std::int64_t n);

// Columns mode: the sums of `width` columns; counts and vectors stand behind each other in the state's memory, so that
// a nest which was ended goes on with them.
class ColumnSums {
 public:
  ColumnSums(const WindowRun& run, const ReductionCode& r, std::int64_t width);
  void start() { counts_ = {}; }
  void take_rows(const std::byte* v, std::int64_t count);
  const std::byte* finish();

 private:
  struct Counts {
    std::int64_t in_group = 0;
    std::uint64_t occupied = 0;
  };
  void end_group();
  std::byte* vector(std::int64_t k) const { return vectors_ + static_cast<std::size_t>(k) * stride_; }  // 0: the group
  const ReductionCode& r_;
  std::int64_t width_;
  Counts& counts_;
  std::byte* vectors_;
  std::size_t stride_;
};

}  // namespace tfvm
