#pragma once
// Linear recurrences along an axis, by doubling (cumulative.cpp).

#include "bytecode/builder.h"

namespace tfvm {

struct RunningAxis {
  std::int64_t axis, length;
  bool reverse;
};

// v moved `by` places along the running direction; `fill` comes in at the end that is left free.
ValueId shift(Builder& b, const RunningAxis& a, ValueId v, std::int64_t by, double fill);

// s_i = a_i s_(i-1) + b_i with s_(-1) = 0, for s = b on entry. `times` multiplies factors a with each other: with zmul
// a factor 0 cuts what stands before it off, whatever it is.
ValueId recurrence(Builder& b, const RunningAxis& axis, ValueId a, ValueId s, Op times = Op::mul);

}  // namespace tfvm
