// Control flow: the callee's types against the operands'.
#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "tests/bytecode/harness.h"

namespace tfvm {
namespace {

struct Control : testing::Test {
  Tables t;

  // A function of these types that gives the parameters `results`, or `true` where results holds -1.
  FunctionId function(std::string_view params, std::vector<int> results) {
    Builder b(t, {}, "body");
    std::vector<ValueId> values, out;
    for (TypeId type : test::types(t, params)) values.push_back(b.param(type));
    for (int k : results) out.push_back(k < 0 ? b.scalar_int(DType::Bool, 1) : values[static_cast<std::size_t>(k)]);
    return *b.seal(out);
  }

  // "f32[3] i64" or "! message"
  std::string infer(Op op, std::string_view operands, std::initializer_list<AttrArg> attrs) {
    Builder b(t, {nullptr, false});
    std::vector<ValueId> in;
    for (TypeId type : test::types(t, operands)) in.push_back(b.param(type));
    b.emit(op, in, t.attrs.dict(attrs));
    if (b.failed()) return "! " + b.error().message;
    const Instr i = b.body().instr(b.body().num_instrs() - 1);
    std::vector<TypeId> results;
    for (std::uint32_t r = 0; r < i.num_results; ++r) results.push_back(b.type(i.result(r)));
    return test::text(t, results);
  }
};

TEST_F(Control, Call) {
  const FunctionId f = function("f32[2] i64", {1, 0});
  EXPECT_EQ(infer(Op::call, "f32[2] i64", {{Key::callee, f}}), "i64 f32[2]");
  EXPECT_EQ(infer(Op::call, "f32[3] i64", {{Key::callee, f}}),
            "! [call] expected @body of (f32[3], i64), got parameters (f32[2], i64)");
}

TEST_F(Control, Cond) {
  const FunctionId f = function("f32 f32", {0}), g = function("f32 f32", {1}), two = function("f32 f32", {0, 1});
  EXPECT_EQ(infer(Op::cond, "bool f32 f32", {{Key::then, f}, {Key::else_, g}}), "f32");
  EXPECT_EQ(infer(Op::cond, "bool[2] f32 f32", {{Key::then, f}, {Key::else_, g}}),
            "! [cond] expected a scalar predicate, got bool[2], f32, f32");
  EXPECT_EQ(infer(Op::cond, "bool f32 f32", {{Key::then, f}, {Key::else_, two}}),
            "! [cond] expected @body to give (f32), got (f32, f32)");
}

TEST_F(Control, Switch) {
  const AttrId branches[] = {t.attrs.of(function("f32", {0})), t.attrs.of(function("f32", {0, 0}))};
  EXPECT_EQ(infer(Op::switch_, "i32 f32", {{Key::branches, t.attrs.list({branches, 1})}}), "f32");
  EXPECT_EQ(infer(Op::switch_, "i32 f32", {{Key::branches, t.attrs.list(branches)}}),
            "! [switch] expected @body to give (f32), got (f32, f32)");
  EXPECT_EQ(infer(Op::switch_, "i32 f32", {{Key::branches, t.attrs.list({})}}),
            "! [switch] expected at least one branch");
}

TEST_F(Control, While) {
  const FunctionId cond = function("i64 f32", {-1}), body = function("f64 f32", {1});
  EXPECT_EQ(infer(Op::while_, "i64 f64 f32",
                  {{Key::cond, cond}, {Key::body, body}, {Key::cond_consts, 1}, {Key::body_consts, 1}}),
            "f32");
  EXPECT_EQ(infer(Op::while_, "i64 f64 f32", {{Key::cond, cond}, {Key::body, body}, {Key::cond_consts, 4}}),
            "! [while] expected cond_consts within the 3 operands, got 4");
  EXPECT_EQ(infer(Op::while_, "f32", {{Key::cond, function("f32", {0})}, {Key::body, function("f32", {0})}}),
            "! [while] expected @body to give (bool), got (f32)");
}

TEST_F(Control, Scan) {
  const FunctionId body = function("f64 f32 i64[2]", {1, 0, 2});  // consts=1 carry=1, one scanned input
  EXPECT_EQ(infer(Op::scan, "f64 f32 i64[5,2]", {{Key::body, body}, {Key::consts, 1}, {Key::carry, 1}}),
            "f32 f64[5] i64[5,2]");
  EXPECT_EQ(
      infer(Op::scan, "f64 f32 i64[5,2]", {{Key::body, body}, {Key::consts, 1}, {Key::carry, 1}, {Key::length, 4}}),
      "! [scan] expected scanned inputs of length 4, got i64[5,2]");
  EXPECT_EQ(infer(Op::scan, "f32", {{Key::body, function("f32", {0})}, {Key::carry, 1}}),
            "! [scan] expected length where nothing is scanned, got none");
  EXPECT_EQ(infer(Op::scan, "f64 f32 i64[5,2]", {{Key::body, body}, {Key::carry, 2}}),
            "! [scan] expected @body to give the carries (f64, f32) first, got (f32, f64, i64[2])");
}

TEST_F(Control, ReduceByAFunction) {
  const FunctionId f = function("f32 i64 f32 i64", {0, 1});
  EXPECT_EQ(infer(Op::reduce, "f32[2,3] i64[2,3] f32 i64", {{Key::body, f}, {Key::axes, 0}}), "f32[3] i64[3]");
  EXPECT_EQ(infer(Op::reduce, "f32[2,3] f32", {{Key::body, f}}),
            "! [reduce] expected a function that gives one scalar for each tensor, got f32[2,3], f32");
}

}  // namespace
}  // namespace tfvm
