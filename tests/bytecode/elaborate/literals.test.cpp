// The dtype and the shape of literals.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

// One statement, the types of its results.
std::string result(const std::string& statement) {
  const std::vector<std::string> out = Loaded("test \"t\" {\n%r = " + statement + "\n}").test();
  return out.empty() ? "" : out[0];
}

TEST(Literals, TakeTheirDtypeFromWhatStandsAroundThem) {
  struct Case {
    std::string_view statement, type;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"add [1, 2], 3", "i64[2]"},
           {"add [1, 2.5], 3", "f32[2]"},
           {"add 1, 2.5", "f32"},
           {"add 1, 2 : u8", "u8"},
           {"full 0.0 {shape=[0, 3]} : f64[0,3]", "f64[0,3]"},
           {"eq 1, 2 : bool", "bool"},
           {"isnan 1.0 : bool", "bool"},
           {"not true", "bool"},
           {"select true, 1, 2 : f64", "f64"},
           {"select [true, false], 1, 2.0", "f32[2]"},
           {"take [1.5, 2.5], [[0], [1]] {axis=0} : f64[2,1]", "f64[2,1]"},
           {"cast 0.8 {dtype=f64} : f64", "f64"},
           {"clone 0.8 : f64", "f64"},
           {"clone [] : f32[0,3]", "f32[0,3]"},
           {"clone [[], []]", "f32[2,0]"},
           {"clone inf", "f32"},
           {"dynamic_slice [1, 2, 3], 1 {sizes=[2]}", "i64[2]"},
           {"reduce_sum [[1, 2], [3, 4]] {axes=[0]} : i32[2]", "i32[2]"},
           {"argmax [1.0, 2.0] {axis=0} : i64", "i64"},
           {"concat [1, 2], [3.0] {axis=0}", "f32[3]"},
           {"clone hex\"0000803f00000040\" : f32[2]", "f32[2]"},
       })
    EXPECT_EQ(result(std::string(c.statement)), c.type) << c.statement;
}

TEST(Literals, ThatDoNotFitAreErrors) {
  EXPECT_EQ(result("add 256, 1 : u8"), "2: 256 does not fit u8");
  EXPECT_EQ(result("add 0.5, 1 : i32"), "2: 0.5 is no integer, as i32 needs");
  EXPECT_EQ(result("clone hex\"00000000\" : f32[2]"), "2: hex\"…\" has 4 bytes, f32[2] has 8");
}

TEST(Literals, AsArgumentsTakeTheParametersDtype) {
  const std::vector<std::string> out = Loaded(R"(
    func @f64(%x: f64[..]) { ret %x }
    func @class(%x: f[..], %y: f[..]) { ret %x, %y }
    func @int(%x: i[..]) { ret %x }
    func @any(%x, %y: t[..]) { ret %x, %y }
    test "t" {
      %h = clone 1.0 : f16
      %a = call @f64([1, 2])
      %b, %c = call @class(1, %h)
      %d, %e = call @class(1, 2)
      %f = call @int(3)
      %g, %i = call @any(1.5, 2)
      %j = call @int(3) : i8
      %k = call @int(1.5)
    })")
                                           .test();
  EXPECT_EQ(out, (std::vector<std::string>{"f16", "f64[2]", "f16 f16", "f32 f32", "i64", "f32 i64", "i8",
                                           "14: 1.5 is no integer, as i64 needs"}));
}

TEST(Literals, InExpectationsTakeTheOtherOperandsDtype) {
  const std::vector<std::string> out = Loaded(R"(
    test "t" {
      %a = clone [1.0, 2.0] : f64[2]
      %b = clone [] : f16[0,3]
      expect_close %a, [1, 2] {rtol=1}
      expect_eq 1, %a
      expect_eq %b, []
      expect_shape %b {shape=[0, 3]}
      expect_close %a, 1.0 {rtoll=1}
      expect_eq %a
    })")
                                           .test();
  EXPECT_EQ(out,
            (std::vector<std::string>{"f64[2]", "f16[0,3]", "f64[2] f64[2]", "f64 f64[2]", "f16[0,3] f16[0,3]",
                                      "f16[0,3]", "9: [expect_close] has no attribute 'rtoll'; did you mean 'rtol'?",
                                      "10: expect_eq takes two values"}));
}

TEST(Literals, MayBeComputed) {
  constexpr std::string_view kText = R"(
    func @mean<axes: ints = none, eps: float = 0.5>(%x: f[..]) {
      %s = reduce_sum %x {axes=axes}
      %d = div %s, (size(%x, axes))
      %e = add %d, (eps)
      ret %e
    }
    func @bad(%x: i32[2]) {
      %y = mul %x, (1 == 1)
      ret %y
    }
    func @big(%x: i8[2]) {
      %y = mul %x, (100 * 2)
      ret %y
    })";
  EXPECT_EQ(instance(kText, "mean", "f64[2,3]"), R"(
func @mean(%x: f64[2,3]) -> f64 {
  %s = reduce_sum %x {axes=[0, 1]}
  %d = div %s, 6.0
  %e = add %d, 0.5
  ret %e
}
)");
  EXPECT_EQ(instance(kText, "bad", "i32[2]"), "9: this computed literal can't be a i32");
  EXPECT_EQ(instance(kText, "big", "i8[2]"), "13: 200 does not fit into i8");
}

}  // namespace tfvm::test
