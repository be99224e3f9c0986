// Bodies made by hand, one thing wrong in each.
#include "bytecode/verify.h"

#include <gtest/gtest.h>

#include "bytecode/builder.h"

namespace tfvm {
namespace {

struct VerifyTest : testing::Test {
  Tables t;
  Body good() {
    Builder b(t, {});
    const ValueId x = b.param(t.types.tensor(DType::F32, {2, 3}));
    const FunctionId f = *b.seal({b.emit(Op::reduce_sum, {b.emit(Op::sin, {x})}, {{Key::axes, 0}})});
    return t.bodies[f.body];
  }
  std::string verdict(Body body) {
    const Status s = verify(t, {t.bodies.intern(std::move(body)), t.debugs.add({})});
    return s ? "ok" : s.error().message;
  }
};

TEST_F(VerifyTest, AcceptsWhatTheBuilderMakes) { EXPECT_EQ(verdict(good()), "ok"); }

TEST_F(VerifyTest, RefusesWrongTypes) {
  Body b = good();
  b.types.back() = t.types.tensor(DType::F32, {2});
  EXPECT_NE(verdict(b).find("expected f32[3], found f32[2]"), std::string::npos) << verdict(b);
}

TEST_F(VerifyTest, RefusesForwardReferences) {
  Body b = good();
  b.operands[0] = ValueId{2};
  EXPECT_NE(verdict(b).find("defined later"), std::string::npos);
}

TEST_F(VerifyTest, RefusesAttributesThatAreNotNormalised) {
  Body b = good();
  const std::int64_t axes[] = {-2};
  b.attrs[1] = t.attrs.with(b.attrs[1], Key::axes, t.attrs.ints(axes));
  EXPECT_NE(verdict(b).find("not normalised"), std::string::npos) << verdict(b);
}

TEST_F(VerifyTest, RefusesRaggedArrays) {
  Body b = good();
  b.operand_begin.pop_back();
  EXPECT_NE(verdict(b), "ok");
  b = good();
  b.results[0] = ValueId{99};
  EXPECT_NE(verdict(b), "ok");
}

}  // namespace
}  // namespace tfvm
