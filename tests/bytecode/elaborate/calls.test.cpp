// Calls of functions and of core ops, own rules, cycles, depth, and how errors say where they came about.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

TEST(Calls, InstancesAreMadeOncePerTypes) {
  EXPECT_EQ(instance(R"(
    func @sq(%x) {
      %y = mul %x, %x
      ret %y
    }
    func @f(%x: f32[2], %y: i8) {
      %a = call @sq(%x)
      %b = call @sq(%a)
      %c = call @sq(%y)
      ret %b, %c
    })",
                     "f", "f32[2] i8"),
            R"(
func @f(%x: f32[2], %y: i8) -> (f32[2], i8) {
  %a = call @sq(%x)
  %b = call @sq(%a)
  %c = call @sq.1(%y)
  ret %b, %c
}

func @sq(%x: f32[2]) -> f32[2] {
  %y = mul %x, %x
  ret %y
}

func @sq.1(%x: i8) -> i8 {
  %y = mul %x, %x
  ret %y
}
)");
}

TEST(Calls, CoreOpsOfTheStdlibAreCalls) {
  Loaded p(R"(
    func @double(%x: f32) { ret %x }
    func @f(%x: f64[2]) {
      %y = double %x {by=3}
      %z = double %x
      ret %y, %z
    }
    func @bad(%x: bool) {
      %y = double %x
      ret %y
    }
    func @count(%x: f64) {
      %y = double %x, %x
      ret %y
    }
    func @slip(%x: f64) {
      %y = doubel %x
      ret %y
    })",
           R"(
func @double<by: int = 2>(%x: f[..]) {
  %y = mul %x, (by)
  %z = call @helper(%y)
  ret %z
}
func @helper(%x: f[..]) { ret %x })");
  EXPECT_EQ(p.function("f", "f64[2]"), R"(
func @f(%x: f64[2]) -> (f64[2], f64[2]) {
  %y = call @double(%x)
  %z = call @double.1(%x)
  ret %y, %z
}

func @double(%x: f64[2]) -> f64[2] {
  %y = mul %x, 3.0
  %z = call @helper(%y)
  ret %z
}

func @double.1(%x: f64[2]) -> f64[2] {
  %y = mul %x, 2.0
  %z = call @helper(%y)
  ret %z
}

func @helper(%x: f64[2]) -> f64[2] {
  ret %x
}
)");
  EXPECT_EQ(p.function("bad", "bool"), "9: [double] %x: expected f[..], got bool; in the definition of double");
  EXPECT_EQ(p.function("count", "f64"), "13: [double] takes 1 operand, got 2");
  EXPECT_EQ(p.function("slip", "f64"), "17: unknown op 'doubel'; did you mean 'double'?");
}

TEST(Calls, OwnRulesRideOnTheCall) {
  EXPECT_EQ(instance(R"(
    func @fwd(%x: f64, %n: i64) {
      %y = sin %x
      ret %y, %x
    }
    func @bwd(%r: f64, %ct: f64) {
      %d = mul %r, %ct
      ret %d
    }
    func @f(%x: f64, %n: i64) {custom_vjp=[@fwd, @bwd]} {
      %y = sin %x
      ret %y
    }
    func @rule(%x: f64, %y: f64, %dx: f64) {
      %t = mul %y, %dx
      ret %t
    }
    func @e(%x: f64) {derivative=@rule} {
      %y = exp %x
      ret %y
    }
    func @g(%x: f64) {
      %a = call @f(%x, 2)
      %b = call @e(%a)
      ret %b
    })",
                     "g", "f64")
                .substr(0, 140),
            R"(
func @g(%x: f64) -> f64 {
  %a = call @f(%x, 2)
  %b = call @e(%a)
  ret %b
}

func @f(%x: f64, %n: i64) -> f64 {custom_vjp=[@fwd, @bwd]} {)");
}

TEST(Calls, ARuleThatCannotBeMadeFailsOnlyWhereItIsUsed) {
  const std::string text = instance(R"(
    func @rule(%x: f64, %dx: f64) { ret %x }
    func @f(%x: f64) {custom_jvp=@rule} {
      %y = exp %x
      ret %y
    })",
                                    "f", "f64");
  EXPECT_NE(text.find("the custom_jvp rule of @f can't be made: @rule gives (f64), expected (f64, f64)"),
            std::string::npos)
      << text;
}

TEST(Calls, CyclesAreOneErrorThatNamesThem) {
  constexpr std::string_view kText = R"(
    func @a(%x: f32) {
      %y = call @b(%x)
      ret %y
    }
    func @b(%x: f32) {
      %y = call @a(%x)
      ret %y
    }
    func @c = checkpoint(@d)
    func @d = checkpoint(@c)
    func @e(%x: f32) {custom_jvp=@rule} { ret %x }
    func @rule(%x: f32, %t: f32) {
      %y = call @e(%x)
      ret %y, %t
    })";
  EXPECT_EQ(instance(kText, "a", "f32"),
            "7: cycle of calls: @a -> @b -> @a; loops are scan and while; in @b called at line 3");
  EXPECT_EQ(instance(kText, "c", "f32"), "0: cycle of calls: @d -> @c -> @d; loops are scan and while");
  EXPECT_EQ(instance(kText, "e", "f32"),
            "14: cycle of calls: the rules of @e -> @rule -> the rules of @e; loops are scan and while");
}

TEST(Calls, DepthIsLimitedTopDownAndBottomUp) {
  std::string text = "func @f0(%x: f64) { ret %x }\n";
  for (int i = 1; i < 400; ++i)
    text += "func @f" + std::to_string(i) + "(%x: f64) {\n%y = call @f" + std::to_string(i - 1) + "(%x)\nret %y\n}\n";
  EXPECT_NE(instance(text, "f399", "f64").find("nested deeper than 256"), std::string::npos);
  Loaded bottom_up(text);
  for (int i = 0; i < 400; ++i) bottom_up.function("f" + std::to_string(i), "f64");
  EXPECT_NE(bottom_up.function("f300", "f64").find("nested deeper than 256"), std::string::npos);
  EXPECT_TRUE(bottom_up.function("f200", "f64").starts_with("\nfunc @f200"));
}

TEST(Calls, ErrorsSayHowTheyCameAbout) {
  Loaded p(R"(
    func @inner(%x: f32[..]) {
      %y = reshape %x {shape=[5]}
      ret %y
    }
    func @outer(%x: f32[..]) {
      %y = call @inner(%x)
      ret %y
    }
    func @main() {
      %y = call @outer([1, 2])
      ret %y
    })");
  const std::string error = p.function("main");
  EXPECT_TRUE(error.starts_with("3: [reshape]")) << error;
  EXPECT_TRUE(error.ends_with("; in @inner called at line 7; in @outer called at line 11")) << error;
  ASSERT_EQ(p.program.check().size(), 1u);
}

TEST(Calls, NamesThatAreUnknownHaveANearMiss) {
  Loaded p("func @loss(%x: f32) { ret %x }");
  EXPECT_EQ(p.function("los"), "0: there is no function @los; did you mean @loss?");
  EXPECT_EQ(instance("func @f(%x: f32) { %y = call @g(%x)\n ret %y }", "f", "f32"),
            "1: @g is not defined; did you mean @f?");
}

}  // namespace tfvm::test
