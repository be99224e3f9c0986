// Params and buffers: read by an op without operands, made parameters where somebody asks.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

namespace {

constexpr std::string_view kText = R"(
  param @w: f64[2] = [1, 2]
  buffer @s: f64
  param @late: f64[2] = call @make(@w)
  param @file: f32[3] = file "weights.npy"
  func @make(%w: f64[2]) {
    %y = add %w, @s
    ret %y
  }
  func @f(%x: f64[2]) {
    %y = mul %x, @w
    %z = scan (%c = %y;) {length=3} {
      %d = mul %c, @s
      yield %d;
    }
    ret %z
  }
  func @g = functional_call(@f))";

}  // namespace

TEST(Globals, AreLiftedThroughBlocksAndCalls) {
  Loaded p(kText);
  EXPECT_EQ(p.function("g", "f64[2] f64 f64[2]"), R"(
func @f(%w: f64[2], %s: f64, %x: f64[2]) -> f64[2] {
  %y = mul %x, %w
  %z = scan @f.body (%w, %s, %y) {consts=2, carry=1, length=3}
  ret %z
}

func @f.body(%w: f64[2], %s: f64, %c: f64[2]) -> f64[2] {
  %3 = broadcast_to %s {shape=[2]}
  %d = mul %c, %3
  ret %d
}
)");
  EXPECT_EQ(p.function("g", "f64[2] f32 f64[2]"), "0: [functional_call(@f)] @s: expected f64, got f32");
  EXPECT_EQ(p.function("g", "f64[2]"), "0: functional_call(@f) takes 3 arguments, got 1");
}

TEST(Globals, AreLeadingInputsOfWhatRuns) {
  Loaded p(kText);
  Result<Callee*> f = p.program.function("f");
  Result<Step> step = p.program.entry(**f, types(*p.tables, "f64[2]"));
  ASSERT_TRUE(step);
  ASSERT_EQ(step->globals.size(), 2u);
  EXPECT_EQ(p.tables->strings[step->globals[0].name], "w");
  EXPECT_EQ(p.tables->strings[step->globals[1].name], "s");
  EXPECT_EQ(p.tables->body(step->function).num_params, 3u);
}

TEST(Globals, HaveFirstValues) {
  Loaded p(kText);
  Result<Initial> w = p.program.initial(0), s = p.program.initial(1), late = p.program.initial(2);
  Result<Initial> file = p.program.initial(3);
  ASSERT_TRUE(w && s && late && file);
  EXPECT_EQ(p.tables->consts.as_double(std::get<ConstId>(w->value), 1), 2.0);
  EXPECT_TRUE(s->is_buffer);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(s->value));
  EXPECT_EQ(std::get<Step>(late->value).globals.size(), 2u);
  EXPECT_EQ(std::get<std::string>(file->value), "weights.npy");
}

TEST(Globals, ErrorsOfDeclarations) {
  Loaded wrong("param @w: f64[2] = [1, 2, 3]\nfunc @f() { ret }");
  Result<Initial> w = wrong.program.initial(0);
  ASSERT_FALSE(w);
  EXPECT_EQ(Loaded::describe(w.error()), "1: @w: expected f64[2], got f64[3]");
  EXPECT_EQ(Loaded("param @w: f[n]").load_error, "1: @w must have a dtype and sizes, not f[n]");
}

TEST(Globals, OfAFunctionWithOwnRulesHaveNoDerivative) {
  const std::string text = Loaded(R"(
    param @w: f64 = 2.0
    func @fwd(%x: f64) {
      %y = mul %x, @w
      ret %y, %x
    }
    func @bwd(%x: f64, %ct: f64) { ret %ct }
    func @f(%x: f64) {custom_vjp=[@fwd, @bwd]} {
      %y = mul %x, @w
      ret %y
    }
    func @g = functional_call(@f))")
                               .function("g", "f64 f64");
  EXPECT_TRUE(text.starts_with(R"(
func @f(%w: f64, %x: f64) -> f64 {
  %2 = call @f.1(%w, %x)
  ret %2
}

func @f.1(%w: f64, %x: f64) -> f64 {custom_vjp=[@fwd, @bwd]} {
)")) << text;
  EXPECT_NE(text.find("%2 = clone 0.0 : f64\n  %3 = call @bwd.1(%0, %1)\n  ret %2, %3"), std::string::npos) << text;
}

}  // namespace tfvm::test
