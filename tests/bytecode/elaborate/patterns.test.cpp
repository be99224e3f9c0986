// Parameters against argument types, and written result types.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

TEST(Patterns, ErrorsNameTheFunctionTheParameterAndBothTypes) {
  constexpr std::string_view kText = R"(
    func @same(%x: f64[n], %y: f64[n,m]) { ret %x }
    func @class(%x: f[..], %y: f[..]) { ret %x }
    func @two(%x: f1[..], %y: f2[..]) { ret %x, %y }
    func @fixed(%x: f32[2,3]) { ret %x }
    func @int(%x: i[k]) { ret %x }
    func @rest(%x: f32[..b], %y: f32[..b,2]) { ret %y }
    func @any(%x, %y) { ret %x, %y })";
  struct Case {
    std::string_view name, args, expected;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"same", "f64[2] f64[3,1]", "[@same] %y: expected f64[n,m] with n = 2, got f64[3,1]"},
           {"class", "f32[2] f64[2]",
            "[@class] %y: expected f[..] with f = f32, got f64[2]; there is no implicit conversion, use cast"},
           {"class", "i32 i32", "[@class] %x: expected f[..], got i32"},
           {"fixed", "f32[2,2]", "[@fixed] %x: expected f32[2,3], got f32[2,2]"},
           {"fixed", "f64[2,3]",
            "[@fixed] %x: expected f32[2,3], got f64[2,3]; there is no implicit conversion, use cast"},
           {"int", "f32[2]", "[@int] %x: expected i[k], got f32[2]"},
           {"int", "u8[2,2]", "[@int] %x: expected i[k], got u8[2,2]"},
           {"rest", "f32[4,5] f32[4,2]", "[@rest] %y: expected f32[..b,2] with b = [4,5], got f32[4,2]"},
           {"same", "f64[2]", "@same takes 2 arguments, got 1"},
       })
    EXPECT_EQ(instance(kText, c.name, c.args), "0: " + std::string(c.expected));
  for (const auto& [name, args] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{{"same", "f64[2] f64[2,3]"},
                                                                            {"two", "f32 f64[3]"},
                                                                            {"int", "u8[0]"},
                                                                            {"rest", "f32 f32[2]"},
                                                                            {"any", "bool f32"}})
    EXPECT_TRUE(instance(kText, name, args).starts_with("\nfunc @" + std::string(name))) << name;
}

TEST(Patterns, WrittenResultTypesAreChecked) {
  constexpr std::string_view kText = R"(
    func @wrong(%x: f64[2]) -> f64[3] {
      %r = neg %x
      ret %r
    }
    func @count(%x: f64[2]) -> (f64[2], f64[2]) { ret %x }
    func @class(%x: f[n]) -> f[n] {
      %r = cast %x {dtype=f16}
      ret %r
    }
    func @inside(%x: f64[n]) {
      %y = neg %x : f32[n]
      ret %y
    })";
  EXPECT_EQ(instance(kText, "wrong", "f64[2]"), "4: [@wrong] result 0: expected f64[3], got f64[2]");
  EXPECT_EQ(instance(kText, "count", "f64[2]"), "6: [@count] gives 1 result, 2 types are written");
  EXPECT_EQ(instance(kText, "class", "f64[2]"), "9: [@class] result 0: expected f[n] with f = f64, n = 2, got f16[2]");
  EXPECT_EQ(instance(kText, "inside", "f64[2]"), "12: [neg] result 0: expected f32[n] with n = 2, got f64[2]");
}

TEST(Patterns, AttributesAreComputedFromDims) {
  constexpr std::string_view kText = R"(
    func @pairs(%x: f64[n,k]) {
      %r = reshape %x {shape=[(n * 2), (dim(%x, -1) / 2)]}
      ret %r
    }
    func @rest(%x: f32[..b,k]) {
      %r = reshape %x {shape=[1, b, (max(k, 2) - min(k, 2) + rank(%x) % 3)]}
      ret %r
    }
    func @over(%x: f32[n]) {
      %r = iota {shape=[(n * 9223372036854775807)]}
      ret %r
    }
    func @zero(%x: f32[n]) {
      %r = iota {shape=[(1 % (n - 2))]}
      ret %r
    }
    func @unknown(%x: f32[n]) {
      %r = iota {shape=[m]}
      ret %r
    })";
  EXPECT_EQ(instance(kText, "pairs", "f64[2,4]"), R"(
func @pairs(%x: f64[2,4]) -> f64[4,2] {
  %r = reshape %x {shape=[4, 2]}
  ret %r
}
)");
  EXPECT_EQ(instance(kText, "rest", "f32[4,5,1]"), R"(
func @rest(%x: f32[4,5,1]) -> f32[1,4,5,1] {
  %r = reshape %x {shape=[1, 4, 5, 1]}
  ret %r
}
)");
  EXPECT_EQ(instance(kText, "over", "f32[2]"), "11: [iota] a computed integer does not fit into 64 bits");
  EXPECT_EQ(instance(kText, "zero", "f32[2]"), "15: [iota] a computed integer divides by zero");
  EXPECT_EQ(instance(kText, "unknown", "f32[2]"),
            "19: [iota] 'm' is no dtype, attribute parameter or named dim of this function");
}

TEST(Patterns, AttributeParameters) {
  constexpr std::string_view kText = R"(
    func @sum<axis: int = -1, keepdims: bool = false>(%x: f[..]) {
      %r = reduce_sum %x {axes=[axis], keepdims=keepdims}
      ret %r
    }
    func @use(%x: f32[2,3]) {
      %a = call @sum(%x)
      %b = call @sum<axis=0>(%x)
      %c = call @sum<axis=-1>(%x)
      ret %a, %b, %c
    }
    func @must<n: int, m: int = (n + 1)>(%x) {
      %r = iota {shape=[n, m]}
      ret %r
    }
    func @unset(%x: f32) {
      %r = call @must(%x)
      ret %r
    }
    func @slip(%x: f32[2]) {
      %r = call @sum<axs=0>(%x)
      ret %r
    }
    func @kind(%x: f32[2]) {
      %r = call @sum<axis="0">(%x)
      ret %r
    })";
  EXPECT_EQ(instance(kText, "use", "f32[2,3]"), R"(
func @use(%x: f32[2,3]) -> (f32[2], f32[3], f32[2]) {
  %a = call @sum(%x)
  %b = call @sum.1(%x)
  ret %a, %b, %a
}

func @sum(%x: f32[2,3]) -> f32[2] {
  %r = reduce_sum %x {axes=[1]}
  ret %r
}

func @sum.1(%x: f32[2,3]) -> f32[3] {
  %r = reduce_sum %x {axes=[0]}
  ret %r
}
)");
  EXPECT_EQ(instance(kText, "unset", "f32"), "17: [@must] needs the attribute 'n'");
  EXPECT_EQ(instance(kText, "slip", "f32[2]"), "21: [@sum] has no attribute 'axs'; did you mean 'axis'?");
  EXPECT_EQ(instance(kText, "kind", "f32[2]"), "25: [@sum] attribute 'axis' must be an integer");
}

}  // namespace tfvm::test
