#pragma once
// What the rules of conv share: its attributes as numbers, and dims moved about.

#include "transforms/window.h"

namespace tfvm {

struct Conv {
  Windows windows;  // over space; `base` and `dilation` are lhs_dilation and rhs_dilation
  std::int64_t feature_groups = 1, batch_groups = 1;
  bool last = false;  // channels last
};

// `w`: the dims of conv's second operand.
Conv conv_of(const AttrTable& at, AttrId attrs, Dims w);
ValueId emit_conv(Builder& b, ValueId x, ValueId w, const Conv& c);

// The dim `from` moved to place `to`, the others in their order.
ValueId move_dim(Builder& b, ValueId v, std::int64_t from, std::int64_t to);
// Dims [first, first + n) as one; the dim `at` as several.
ValueId merge_dims(Builder& b, ValueId v, std::int64_t first, std::int64_t n);
ValueId split_dim(Builder& b, ValueId v, std::int64_t at, std::initializer_list<std::int64_t> parts);

}  // namespace tfvm
