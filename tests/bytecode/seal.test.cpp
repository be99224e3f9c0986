// Dead code, hash-consed bodies, origins and names, inlining, rewriting.
#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "bytecode/rewriter.h"

namespace tfvm {
namespace {

struct SealTest : testing::Test {
  Tables t;
  TypeId f64 = t.types.scalar(DType::F64);

  FunctionId square_of_sin(std::string_view name) {
    Builder b(t, {}, name);
    const ValueId x = b.param(f64);
    b.emit(Op::cos, {x});  // dead
    b.set_loc({t.strings.intern("a.tfa"), 7, 3});
    const ValueId s = b.emit(Op::sin, {x});
    b.name(s, t.strings.intern("s"));
    return *b.seal({b.emit(Op::mul, {s, s})});
  }
};

TEST_F(SealTest, DeadCodeGoesAndEqualBodiesAreOne) {
  const FunctionId f = square_of_sin("f"), g = square_of_sin("g");
  EXPECT_EQ(f.body, g.body);
  EXPECT_NE(f.debug, g.debug);
  EXPECT_EQ(t.bodies[f.body].num_instrs(), 2u);
}

// With what stands between and around it; lines are kept where some instructions have none.
TEST_F(SealTest, WhatStaysKeepsItsOperandsResultsLinesAndNames) {
  Builder b(t, {}, "f");
  const ValueId x = b.param(f64), y = b.param(f64);
  b.emit(Op::cos, {x});  // dead
  const ValueId s = b.emit(Op::sub, {x, y});
  b.emit(Op::exp, {s});  // dead
  b.set_loc({t.strings.intern("a.tfa"), 9, 1});
  const ValueId d = b.emit(Op::div, {s, y});
  b.name(d, t.strings.intern("d"));
  const FunctionId f = *b.seal({d, s, y});
  const Body& body = t.bodies[f.body];
  ASSERT_EQ(body.num_instrs(), 2u);
  EXPECT_EQ(body.ops, (std::vector{Op::sub, Op::div}));
  EXPECT_EQ(body.operands, (std::vector{ValueId{0}, ValueId{1}, ValueId{2}, ValueId{1}}));
  EXPECT_EQ(body.results, (std::vector{ValueId{3}, ValueId{2}, ValueId{1}}));
  EXPECT_EQ(body.types.size(), 4u);
  EXPECT_EQ(t.debugs.find_loc(f.debug, InstrId{0}).line, 0u);
  EXPECT_EQ(t.debugs.find_loc(f.debug, InstrId{1}).line, 9u);
  EXPECT_EQ(t.debugs.value_name(f.debug, ValueId{3}, t.strings), "d");
  EXPECT_FALSE(body.effects);
}

TEST_F(SealTest, AssertsStayAndMarkTheBody) {
  Builder b(t, {}, "f");
  const ValueId x = b.param(f64);
  b.emit(Op::assert_, {b.emit(Op::gt, {x, b.scalar(DType::F64, 0)})}, {{Key::message, "positive"}});
  const FunctionId f = *b.seal({x});
  EXPECT_EQ(t.bodies[f.body].num_instrs(), 3u);
  EXPECT_TRUE(t.bodies[f.body].effects);
  // A call of it whose results nobody uses stays too.
  Builder c(t, {}, "g");
  const ValueId y = c.param(f64);
  c.emit(Op::call, {y}, {{Key::callee, f}});
  const FunctionId g = *c.seal({y});
  EXPECT_EQ(t.bodies[g.body].num_instrs(), 1u);
  EXPECT_TRUE(t.bodies[g.body].effects);
}

TEST_F(SealTest, LinesAndNamesAreFoundThroughPasses) {
  const FunctionId f = square_of_sin("f");
  Builder b(t, {}, f, "jvp");
  Rewriter w(b, f);
  w.copy(InstrId{0});
  b.name_from(b.emit(Op::cos, {w(ValueId{0})}), ValueId{1}, "t");
  w.copy(InstrId{1});
  const FunctionId g = *b.seal({w(ValueId{2}), ValueId{2}});
  EXPECT_EQ(t.debugs.find_loc(g.debug, InstrId{1}).line, 7u);
  EXPECT_EQ(t.debugs.value_name(g.debug, ValueId{2}, t.strings), "s.t");
  EXPECT_EQ(t.debugs.function_name(g.debug, t.strings), "jvp(@f)");
}

TEST_F(SealTest, RewritingWithoutRulesGivesTheSameBody) {
  const FunctionId f = square_of_sin("f");
  Builder b(t, {}, f, "copy");
  Rewriter w(b, f);
  for (std::uint32_t i = 0; i < t.bodies[f.body].num_instrs(); ++i) w.copy(static_cast<InstrId>(i));
  EXPECT_EQ(w.seal()->body, f.body);
}

TEST_F(SealTest, InliningAppendsTheInstructions) {
  const FunctionId f = square_of_sin("f");
  Builder b(t, {}, "g");
  const ValueId x = b.param(f64);
  const ValueId once = inline_body(b, f, std::span(&x, 1))[0];
  const FunctionId g = *b.seal({once});
  EXPECT_EQ(g.body, f.body);
}

TEST_F(SealTest, MissingResultsAreErrors) {
  Builder b(t, {});
  EXPECT_FALSE(b.seal({kNoValue}));
}

}  // namespace
}  // namespace tfvm
