#pragma once

#include "bytecode/builder.h"

namespace tfvm {

// The tangent of the product over the last dim of p[kept…, n], whose tangent is t, as [kept…]: a tree of products
// without divisions (reduce.cpp). Of nothing it is 0.
ValueId product_tangent(Builder& b, ValueId p, ValueId t);

}  // namespace tfvm
