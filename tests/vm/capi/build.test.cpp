#include <cmath>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

struct Build : Host {
  tfvm_builder* b = nullptr;
  explicit Build(std::string_view program = {}, const char* name = "f") : Host(program) {
    EXPECT_EQ(tfvm_builder_create(vm, name, &b, &e), TFVM_OK);
  }
  ~Build() { tfvm_builder_release(b); }
  tfvm_ref op(const char* name, const std::vector<tfvm_ref>& operands, const char* attributes = nullptr) {
    return tfvm_build_op(b, name, operands.data(), operands.size(), attributes);
  }
  std::vector<tfvm_ref> statement(const char* text, const std::vector<tfvm_ref>& operands, std::size_t results = 1) {
    std::vector<tfvm_ref> out(results);
    tfvm_build_statement(b, text, operands.data(), operands.size(), out.data(), results);
    return out;
  }
  tfvm_status finish(const std::vector<tfvm_ref>& results) {
    return tfvm_builder_finish(b, results.data(), results.size(), &e);
  }
};

TEST(CApiBuild, FunctionsComposeWithTransforms) {
  Build h;
  const double weights[] = {1, 2, 0x1.8p-1040};
  const std::vector<std::int64_t> dims{3};
  const tfvm_view w = view(weights, dims, TFVM_F64);
  const tfvm_ref x = tfvm_build_param(h.b, "f64[3]");
  const tfvm_ref p = h.op("mul", {x, tfvm_build_constant(h.b, &w)});
  const tfvm_ref s = h.op("reduce_sum", {h.statement("mul $0, $0", {p})[0]}, "axes=[0]");
  ASSERT_EQ(h.finish({s}), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::string(tfvm_builder_text(h.b)),
            "func @f(%v0: f64[3]) {\n"
            "  %v1 = clone hex\"000000000000f03f00000000000000400000000006000000\" : f64[3]\n"
            "  %v2 = mul %v0, %v1\n"
            "  %v3 = mul %v2, %v2\n"
            "  %v4 = reduce_sum %v3 {axes=[0]}\n"
            "  ret %v4\n"
            "}\n");
  const double at[] = {1, 1, 1};
  double g[3] = {};
  ASSERT_EQ(h.call(h.prepare("grad(@f)"), {at}, {g}), TFVM_OK) << h.e.message;
  EXPECT_EQ(g[1], 8);
}

TEST(CApiBuild, LoopsCallsAndSeveralResults) {
  Build h("func @step(%c: f32, %x: f32) {\n  %n = add %c, %x\n  ret %n, %n\n}\n");
  const tfvm_ref x = tfvm_build_param(h.b, "f32[4]");
  const tfvm_ref start = tfvm_build_param(h.b, nullptr);
  const auto r = h.statement("scan @step ($0, $1) {carry=1}", {start, x}, 2);
  const tfvm_ref twice = h.op("call @step", {r[0], start});
  (void)twice;
  h.statement("assert (true) {message=\"$0 stays\"}", {}, 0);
  ASSERT_EQ(h.finish({r[1]}), TFVM_OK);  // bodies are checked when they are prepared: @step has two results
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", "f32[4], f32", &f, &h.e), TFVM_TYPE);
  EXPECT_EQ(h.e.line, 3);
  Build g("func @step(%c: f32, %x: f32) {\n  %n = add %c, %x\n  ret %n, %n\n}\n");
  const tfvm_ref y = tfvm_build_param(g.b, "f32[4]");
  const tfvm_ref zero = tfvm_build_param(g.b, "f32");
  const auto q = g.statement("scan @step ($0, $1) {carry=1}", {zero, y}, 2);
  ASSERT_EQ(g.finish({q[1], q[0]}), TFVM_OK) << g.e.message;
  const float at[] = {1, 2, 3, 4}, from = 10;
  float sums[4] = {}, last = 0;
  ASSERT_EQ(g.call(g.prepare("@f"), {at, &from}, {sums, &last}), TFVM_OK) << g.e.message;
  EXPECT_EQ(sums[1], 13);
  EXPECT_EQ(last, 20);
}

TEST(CApiBuild, TheFirstMistakeIsTold) {
  {
    Build h;
    EXPECT_EQ(h.op("neg", {3}), -1);
    EXPECT_EQ(tfvm_build_param(h.b, "f32"), -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
    EXPECT_EQ(h.error(), "misuse operand 0 of 'neg $0' is no value of this function");
  }
  {
    Build h;
    h.op("iota", {}, "shape=[3], axis=0");
    EXPECT_EQ(tfvm_build_param(h.b, "f32"), -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
    EXPECT_EQ(h.error(), "misuse parameters come before the first statement");
  }
  {
    Build h;
    EXPECT_EQ(h.statement("mul $0, $1", {tfvm_build_param(h.b, "f32")})[0], -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
    EXPECT_EQ(h.error(), "misuse 'mul $0, $1' names operand 1, there are 1");
  }
  {
    Build h;
    EXPECT_EQ(h.statement("mul 1, 2\n}", {})[0], -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
  }
  {
    Build h;
    EXPECT_EQ(h.finish({7}), TFVM_MISUSE);
    EXPECT_EQ(h.error(), "misuse a result is no value of this function");
  }
  {
    Build h;
    tfvm_view bad = TFVM_VIEW;
    bad.rank = -1;
    EXPECT_EQ(tfvm_build_constant(h.b, &bad), -1);
    EXPECT_EQ(h.finish({}), TFVM_TYPE);
  }
  {
    Build h;
    EXPECT_EQ(tfvm_build_constant(h.b, nullptr), -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
  }
  {
    Build h;
    EXPECT_EQ(tfvm_build_op(h.b, nullptr, nullptr, 0, nullptr), -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
  }
  {
    Build h;
    tfvm_ref r = 0;
    tfvm_build_statement(h.b, nullptr, nullptr, 0, &r, 1);
    EXPECT_EQ(r, -1);
    EXPECT_EQ(h.finish({}), TFVM_MISUSE);
  }
}

TEST(CApiBuild, ErrorsOfTheLanguageNameTheLineOfTheText) {
  Build h;
  const tfvm_ref x = tfvm_build_param(h.b, "f32[3]");
  h.op("frobnicate", {x});
  ASSERT_EQ(h.finish({x}), TFVM_OK) << h.e.message;  // bodies are checked when they are prepared
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", nullptr, &f, &h.e), TFVM_NAME);
  EXPECT_EQ(std::string(h.e.file), "f");
  EXPECT_EQ(h.e.line, 2);
  EXPECT_EQ(h.op("neg", {x}), -1);  // finished
  Build again({}, "f g");
  EXPECT_EQ(again.finish({}), TFVM_SYNTAX);
}

TEST(CApiBuild, ConstantsOfAllShapes) {
  Build h;
  const float scalar = -0.0f;
  const std::vector<std::int64_t> none, empty{0, 3};
  const tfvm_view s = view(&scalar, none, TFVM_F32), z = view<float>(nullptr, empty, TFVM_F32);
  const tfvm_ref a = tfvm_build_constant(h.b, &s), b = tfvm_build_constant(h.b, &z);
  ASSERT_EQ(h.finish({a, b}), TFVM_OK) << h.e.message;
  float out = 1;
  ASSERT_EQ(h.call(h.prepare("@f"), {}, {&out, nullptr}), TFVM_OK) << h.e.message;
  EXPECT_TRUE(std::signbit(out));
}

}  // namespace
}  // namespace tfvm::testing
