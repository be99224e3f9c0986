// Calls are not inlined, and what a pass made of a function once it has: n functions, each calling the next twice, cost
// n passes, not 2^n.
#include <gtest/gtest.h>

#include "tests/transforms/program.h"
#include "transforms/compositions.h"
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

}  // namespace
}  // namespace tfvm::test
