// Exact algebra: what goes, and what must stay.
#include "bytecode/simplify.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

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

TEST_F(SimplifyTest, ReversedTwiceAndReducedOverOnes) {
  const std::int64_t axis[] = {1}, ones[] = {2, 3, 1};
  const ValueId once = b.emit(Op::reverse, {x}, {{Key::axes, Ints(axis)}});
  EXPECT_EQ(b.emit(Op::reverse, {once}, {{Key::axes, Ints(axis)}}), x);
  const std::int64_t last[] = {2}, both[] = {1, 2};
  const ValueId wide = b.emit(Op::reshape, {x}, {{Key::shape, Ints(ones)}});
  EXPECT_EQ(b.emit(Op::reduce_sum, {wide}, {{Key::axes, Ints(last)}}), x);
  b.emit(Op::reduce_sum, {wide}, {{Key::axes, Ints(both)}});
  EXPECT_EQ(b.body().ops[b.body().num_instrs() - 1], Op::reduce_sum);
}

TEST_F(SimplifyTest, CastsThereAndBack) {
  const auto cast = [&](ValueId v, DType d) { return b.emit(Op::cast, {v}, {{Key::dtype, d}}); };
  const ValueId p = b.emit(Op::gt, {x, c(0)});
  EXPECT_EQ(cast(cast(p, DType::F32), DType::Bool), p);
  EXPECT_EQ(cast(cast(p, DType::F32), DType::F64), cast(p, DType::F64));
  const ValueId i = cast(x, DType::I32);
  EXPECT_EQ(cast(cast(i, DType::I64), DType::I32), i);
  EXPECT_EQ(cast(cast(i, DType::F64), DType::I32), i);
  EXPECT_NE(cast(cast(i, DType::F32), DType::I32), i);                    // 24 bits
  EXPECT_NE(cast(cast(i, DType::F64), DType::I16), cast(i, DType::I16));  // one saturates, one wraps
  EXPECT_EQ(cast(cast(i, DType::I64), DType::I16), cast(i, DType::I16));
  EXPECT_NE(cast(cast(i, DType::U32), DType::I32), i);
  EXPECT_NE(cast(cast(x, DType::F64), DType::F32), x);  // NaNs get quiet
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
