// What `emit` checks, completes and infers; errors stick.
#include "bytecode/builder.h"

#include <gtest/gtest.h>

namespace tfvm {
namespace {

struct BuilderTest : testing::Test {
  Tables t;
  TypeId f32(std::initializer_list<std::int64_t> d) { return t.types.tensor(DType::F32, d); }
};

TEST_F(BuilderTest, BroadcastingBecomesExplicit) {
  Builder b(t, {});
  const ValueId x = b.param(f32({2, 3})), y = b.param(f32({3}));
  const ValueId r = b.emit(Op::add, {x, y});
  EXPECT_EQ(b.type(r), f32({2, 3}));
  const Body& body = b.body();
  ASSERT_EQ(body.num_instrs(), 2u);
  EXPECT_EQ(body.ops[0], Op::broadcast_to);
  EXPECT_EQ(body.ops[1], Op::add);
}

TEST_F(BuilderTest, EqualInstructionsAreOneValue) {
  Builder b(t, {});
  const ValueId x = b.param(f32({4}));
  EXPECT_EQ(b.emit(Op::sin, {x}), b.emit(Op::sin, {x}));
  EXPECT_NE(b.emit(Op::sin, {x}), b.emit(Op::cos, {x}));
  // Axes written in two ways are one attribute.
  EXPECT_EQ(b.emit(Op::reduce_sum, {x}, {{Key::axes, t.attrs.none()}}), b.emit(Op::reduce_sum, {x}, {{Key::axes, -1}}));
}

TEST_F(BuilderTest, ValueNumberingSurvivesGrowth) {
  Builder b(t, {});
  ValueId x = b.param(f32({}));
  const ValueId first = b.emit(Op::sin, {x});
  for (int k = 0; k < 1000; ++k) x = b.emit(Op::exp, {x});
  EXPECT_EQ(b.emit(Op::sin, {b.body().param(0)}), first);
  EXPECT_EQ(b.body().num_instrs(), 1001u);
}

// More users of one value than there are places near it.
TEST_F(BuilderTest, ManyUsersOfOneValueAreNumbered) {
  Builder b(t, {});
  const ValueId x = b.param(f32({200}));
  std::vector<ValueId> slices;
  const auto slice = [&](std::int64_t k) {
    const std::int64_t end = k + 1, one = 1;
    return b.emit(Op::slice, {x},
                  {{Key::start, Ints(&k, 1)}, {Key::limit, Ints(&end, 1)}, {Key::stride, Ints(&one, 1)}});
  };
  for (std::int64_t k = 0; k < 200; ++k) slices.push_back(slice(k));
  for (std::int64_t k = 0; k < 200; ++k) EXPECT_EQ(slice(k), slices[static_cast<std::size_t>(k)]);
  EXPECT_EQ(b.body().num_instrs(), 200u);
}

TEST_F(BuilderTest, ACopyOnOtherTypesIsInferredAnew) {
  Builder b(t, {}, "f");
  const ValueId x = b.param(f32({4})), y = b.param(f32({4}));
  const FunctionId f = *b.seal({b.emit(Op::sub, {x, y})});
  Builder c(t, {});
  const Body& from = t.bodies[f.body];
  const ValueId v = c.param(f32({4})), wide = c.param(f32({3, 4})), other = c.param(t.types.tensor(DType::F64, {4}));
  const ValueId same[] = {v, v}, broadcast[] = {wide, v}, mixed[] = {v, other};
  EXPECT_EQ(c.type(c.copy(from, from.instr(0u), same)), f32({4}));
  EXPECT_EQ(c.copy(from, from.instr(0u), same), c.emit(Op::sub, {v, v}));
  EXPECT_EQ(c.type(c.copy(from, from.instr(0u), broadcast)), f32({3, 4}));
  EXPECT_EQ(c.copy(from, from.instr(0u), mixed), kNoValue);
  EXPECT_NE(c.error().message.find("mixes dtypes"), std::string::npos);
}

// What was inferred for one op says nothing of another, nor of other operands.
TEST_F(BuilderTest, WhatWasInferredHoldsForItsOperands) {
  Builder b(t, {});
  const ValueId x = b.param(f32({4})), y = b.param(f32({4})), d = b.param(t.types.tensor(DType::F64, {4}));
  EXPECT_EQ(b.type(b.emit(Op::lt, {x, y})), t.types.tensor(DType::Bool, {4}));
  EXPECT_EQ(b.type(b.emit(Op::add, {x, y})), f32({4}));
  EXPECT_EQ(b.type(b.emit(Op::add, {d, d})), b.type(d));
  EXPECT_EQ(b.type(b.emit(Op::add, {y, x})), f32({4}));
  EXPECT_EQ(b.emit(Op::add, {x, d}), kNoValue);
}

TEST_F(BuilderTest, FullProgramsAreAppendedAsTheyAre) {
  Builder b(t, {.evaluator = nullptr, .simplify = false});
  const ValueId x = b.param(f32({4}));
  EXPECT_NE(b.emit(Op::sin, {x}), b.emit(Op::sin, {x}));
}

TEST_F(BuilderTest, MixedDtypesNameBothTypesAndCast) {
  Builder b(t, {});
  const ValueId x = b.param(f32({2})), y = b.param(t.types.tensor(DType::F64, {2}));
  EXPECT_EQ(b.emit(Op::add, {x, y}), kNoValue);
  EXPECT_EQ(b.error().code, Code::Type);
  EXPECT_NE(b.error().message.find("f32[2]"), std::string::npos);
  EXPECT_NE(b.error().message.find("f64[2]"), std::string::npos);
  EXPECT_NE(b.error().message.find("cast"), std::string::npos);
}

TEST_F(BuilderTest, ErrorsStick) {
  Builder b(t, {});
  const ValueId x = b.param(f32({2})), y = b.param(f32({3}));
  const ValueId bad = b.emit(Op::add, {x, y});
  const ValueId worse = b.emit(Op::sin, {bad});
  EXPECT_EQ(worse, kNoValue);
  const Result<FunctionId> f = b.seal({worse});
  ASSERT_FALSE(f);
  EXPECT_NE(f.error().message.find("f32[2], f32[3]"), std::string::npos) << f.error().message;
}

TEST_F(BuilderTest, UnknownAttributesGetANearMiss) {
  Builder b(t, {});
  const ValueId x = b.param(f32({2}));
  b.emit(Op::reduce_sum, {x}, {{t.strings.key("axess"), 0}});
  EXPECT_NE(b.error().message.find("did you mean 'axes'"), std::string::npos) << b.error().message;
}

TEST_F(BuilderTest, RequiredAttributesAreAskedFor) {
  Builder b(t, {});
  b.emit(Op::cast, {b.param(f32({2}))});
  EXPECT_NE(b.error().message.find("needs the attribute 'dtype'"), std::string::npos) << b.error().message;
}

TEST_F(BuilderTest, OperandClassesAreChecked) {
  Builder b(t, {});
  b.emit(Op::sin, {b.param(t.types.tensor(DType::I32, {2}))});
  EXPECT_NE(b.error().message.find("[sin] got i32[2]"), std::string::npos) << b.error().message;
}

TEST_F(BuilderTest, WrongCountsAreErrors) {
  Builder b(t, {});
  b.emit(Op::add, {b.param(f32({2}))});
  EXPECT_NE(b.error().message.find("expected 2 operands"), std::string::npos) << b.error().message;
}

}  // namespace
}  // namespace tfvm
