// Exact algebra: what goes, and what must stay.
#include "bytecode/simplify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tfvm {
namespace {

struct SimplifyTest : testing::Test {
  Tables t;
  Builder b{t, {}};
  ValueId x = b.param(t.types.tensor(DType::F32, {2, 3}));
  ValueId c(double v) { return b.splat_like(x, v); }
};

TEST_F(SimplifyTest, UnitsGo) {
  EXPECT_EQ(b.emit(Op::mul, {x, c(1)}), x);
  EXPECT_EQ(b.emit(Op::mul, {c(1), x}), x);
  EXPECT_EQ(b.emit(Op::zmul, {x, c(1)}), x);
  EXPECT_EQ(b.emit(Op::sub, {x, c(0)}), x);
  EXPECT_EQ(b.emit(Op::add, {x, c(-0.0)}), x);
  EXPECT_EQ(b.emit(Op::div, {x, c(1)}), x);
}

TEST_F(SimplifyTest, WhatSignedZerosOrNaNCouldShowStays) {
  EXPECT_NE(b.emit(Op::add, {x, c(0.0)}), x);
  EXPECT_NE(b.emit(Op::sub, {x, c(-0.0)}), x);
  EXPECT_EQ(b.body().ops[b.body().num_instrs() - 1], Op::sub);
  b.emit(Op::mul, {x, c(0)});
  EXPECT_EQ(b.body().ops[b.body().num_instrs() - 1], Op::mul);
}

TEST_F(SimplifyTest, StrongZeroIsOrdinaryByAFiniteFactor) {
  b.emit(Op::zmul, {x, c(2)});
  EXPECT_EQ(b.body().ops[b.body().num_instrs() - 1], Op::mul);
  b.emit(Op::zmul, {x, c(std::numeric_limits<double>::infinity())});
  EXPECT_EQ(b.body().ops[b.body().num_instrs() - 1], Op::zmul);
}

TEST_F(SimplifyTest, MovesCompose) {
  const std::int64_t swap[] = {1, 0};
  const ValueId once = b.emit(Op::transpose, {x}, {{Key::perm, Ints(swap)}});
  EXPECT_EQ(b.emit(Op::transpose, {once}, {{Key::perm, Ints(swap)}}), x);
  const std::int64_t flat[] = {6}, back[] = {2, 3};
  EXPECT_EQ(b.emit(Op::reshape, {b.emit(Op::reshape, {x}, {{Key::shape, Ints(flat)}})}, {{Key::shape, Ints(back)}}), x);
}

TEST_F(SimplifyTest, MovedSplatsAreSplats) {
  const std::int64_t swap[] = {1, 0};
  const ValueId moved = b.emit(Op::transpose, {c(3)}, {{Key::perm, Ints(swap)}});
  EXPECT_TRUE(b.splat_of(moved));
  EXPECT_EQ(b.body().ops[b.body().num_instrs() - 1], Op::broadcast_to);
}

TEST_F(SimplifyTest, SelectOfEqualsAndOfConstants) {
  const ValueId p = b.emit(Op::gt, {x, c(0)});
  const ValueId y = b.emit(Op::sin, {x});
  EXPECT_EQ(b.emit(Op::select, {p, x, x}), x);
  EXPECT_EQ(b.emit(Op::select, {b.splat(t.types.tensor(DType::Bool, {2, 3}), 1), x, y}), x);
  EXPECT_EQ(b.emit(Op::select, {b.splat(t.types.tensor(DType::Bool, {2, 3}), 0), x, y}), y);
}

}  // namespace
}  // namespace tfvm
