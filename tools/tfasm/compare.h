#pragma once
// The comparisons of tests (language.md, section 7). Each gives "" where the expectation holds, else what differs: how
// many elements, the largest error and where, both values.

#include <string>

#include "vm/tensor.h"

namespace tfvm::tool {

struct Closeness {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = true;
};

// |a - b| <= atol + rtol |b| for each element; infinities must be equal. dtype and shape must agree.
std::string compare_close(const Tensor& a, const Tensor& b, const Closeness& c);
// Equal values, where NaN equals NaN and -0 equals 0; equal bits where `bitwise`, but a plain `nan` in b stands for
// every NaN: IEEE 754 leaves its bits open.
std::string compare_equal(const Tensor& a, const Tensor& b, bool bitwise);
std::string compare_shape(const Tensor& a, Dims shape);

}  // namespace tfvm::tool
