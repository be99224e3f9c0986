// Calls are not inlined, and what a pass made of a function once it has: n functions, each calling the next twice, cost
// n passes, not 2^n.
#include <gtest/gtest.h>

#include "tests/transforms/program.h"
#include "transforms/compositions.h"
#include "transforms/simplify/inline_calls.h"
#include "transforms/simplify/size.h"

namespace tfvm::test {
namespace {

TEST(NestedCalls, EachFunctionIsTransformedAFewTimes) {
  TransformProgram p;
  ASSERT_TRUE(p.load(""));
  FunctionId f;
  for (int k = 0; k < 40; ++k) {
    Builder b(p.t, {}, "f" + std::to_string(k));
    const ValueId x = b.param(p.t.types.scalar(DType::F64));
    ValueId y = b.emit(Op::sin, {x});
    for (int twice = 0; f && twice < 2; ++twice) y = b.emit(Op::call, {y}, {{Key::callee, f}});
    f = *b.seal({y});
  }
  std::size_t passes = 0;
  p.env.memo.trace = [&](std::string_view, const PassResult&) { ++passes; };
  const Result<FunctionId> g = grad_transform(p.env, f, {}, false);
  p.env.memo.trace = {};
  ASSERT_TRUE(g) << g.error().message;
  EXPECT_LT(passes, 600u);
  EXPECT_LT(code_size(p.t, *g).instructions, 5000);
}

TEST(NestedCalls, InlinedInstructionsKeepTheirLines) {
  TransformProgram p;
  ASSERT_TRUE(p.load(R"(func @g(%x: f64) {
  %s = sin %x
  ret %s
}
func @f(%x: f64) {
  %y = call @g(%x)
  %z = exp %y
  ret %z
}
)"));
  const Result<FunctionId> f = p.function("@f", "f64");
  ASSERT_TRUE(f) << f.error().message;
  const Result<FunctionId> kept = inline_calls(p.env, *f, {0, 1000}), flat = inline_calls(p.env, *f, {1, 1000});
  ASSERT_TRUE(kept && flat);
  EXPECT_EQ(p.t.bodies[kept->body].ops[0], Op::call);
  const Body& body = p.t.bodies[flat->body];
  ASSERT_EQ(body.num_instrs(), 2u);
  EXPECT_EQ(body.ops[0], Op::sin);
  EXPECT_EQ(p.t.debugs.find_loc(flat->debug, InstrId{0}).line, 2u);
  EXPECT_EQ(p.t.debugs.find_loc(flat->debug, InstrId{1}).line, 7u);
}

}  // namespace
}  // namespace tfvm::test
