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
