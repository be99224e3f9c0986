// Which arguments of a call share memory, told from their addresses, strides and who is written.
#include "functionalize/arguments.h"

#include <gtest/gtest.h>

namespace tfvm::test {

namespace {

using Dims = std::vector<std::int64_t>;

// In elements of 8 bytes, in a storage of 100 elements at address 800.
Argument arg(std::int64_t at, Dims shape, Dims strides, bool written = false) {
  Argument a;
  a.first = 800 + 8 * at;
  a.size = 8;
  a.dtype = DType::F64;
  a.place = {0, std::move(shape), std::move(strides)};
  a.storage_begin = 800, a.storage_end = 1600;
  a.written = written;
  return a;
}

std::string how(const std::vector<Argument>& args, LayoutUse use = {}) { return text(group_arguments(args, use)); }

}  // namespace

TEST(Arguments, OneTensorGivenTwice) {
  EXPECT_EQ(how({arg(0, {4}, {1}, true), arg(0, {4}, {1})}), "inputs 0, 1 are one tensor");
  EXPECT_EQ(how({arg(0, {4}, {1}), arg(0, {4}, {1})}), "");
  EXPECT_EQ(how({arg(0, {2, 3}, {1, 2}, true), arg(0, {2, 3}, {1, 2}, true)}), "inputs 0, 1 are one tensor");
}

TEST(Arguments, OverlapWithAWrite) {
  EXPECT_EQ(how({arg(0, {4}, {1}, true), arg(2, {4}, {1})}), "inputs 0, 1: a synthetic base of 6 elements");
  EXPECT_EQ(how({arg(0, {4}, {1}), arg(2, {4}, {1})}), "");
  EXPECT_EQ(how({arg(0, {4}, {2}, true), arg(1, {4}, {2}, true)}), "");  // they interleave
  EXPECT_EQ(how({arg(0, {4}, {2}, true), arg(1, {4}, {3}, true)}), "inputs 0, 1: a synthetic base of 11 elements");
  EXPECT_EQ(how({arg(0, {2, 3}, {3, 1}, true), arg(0, {3, 2}, {1, 3})}), "inputs 0, 1: a synthetic base of 6 elements");
  EXPECT_EQ(how({arg(0, {2}, {1}, true), arg(1, {0}, {1}), arg(1, {2}, {0})}),
            "inputs 0, 2: a synthetic base of 2 elements");
  // Readers don't join what they read.
  EXPECT_EQ(how({arg(0, {4}, {1}, true), arg(2, {4}, {1}), arg(4, {4}, {1})}),
            "inputs 0, 1: a synthetic base of 6 elements");
  EXPECT_EQ(how({arg(0, {2}, {1}), arg(9, {2}, {1}, true), arg(1, {9}, {1}, true)}),
            "inputs 0, 1, 2: a synthetic base of 11 elements");
}

TEST(Arguments, WhatStridesAllowMayNeedThem) {
  EXPECT_EQ(how({arg(0, {2, 3}, {1, 2}, true)}), "");
  EXPECT_EQ(how({arg(0, {2, 3}, {1, 2}, true)}, {.strides = true}), "input 0: a synthetic base of 6 elements");
  EXPECT_EQ(how({arg(8, {2, 3}, {3, 1}, true)}, {.strides = true}), "");
  EXPECT_EQ(how({arg(8, {2, 3}, {3, 1}, true)}, {.storage = true}), "input 0: their storage, 100 elements");
  EXPECT_EQ(how({arg(0, {100}, {1}, true)}, {.storage = true}), "");
  EXPECT_EQ(how({arg(0, {4}, {1}), arg(50, {4}, {1})}, {.storage = true}), "inputs 0, 1: their storage, 100 elements");
}

TEST(Arguments, WhatHasNoFunctionalForm) {
  EXPECT_EQ(how({arg(3, {4}, {-1}, true), arg(2, {4}, {1})}),
            "input 0 has negative strides, and shares memory or is viewed");
  EXPECT_EQ(how({arg(3, {4}, {-1}, true)}), "");
  EXPECT_EQ(how({arg(0, {2, 3}, {1, 0}, true)}), "elements of the written input 0 overlap");
  EXPECT_EQ(how({arg(0, {2, 3}, {1, 0})}), "");
  std::vector<Argument> mixed{arg(0, {4}, {1}, true), arg(0, {8}, {1})};
  mixed[1].size = 4, mixed[1].dtype = DType::F32;
  EXPECT_EQ(how(mixed), "inputs of one memory differ in dtype or alignment");
  mixed = {arg(0, {4}, {1}, true), arg(2, {4}, {1})};
  mixed[1].first += 4;
  EXPECT_EQ(how(mixed), "inputs of one memory differ in dtype or alignment");
}

}  // namespace tfvm::test
