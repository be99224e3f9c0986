// Full functions: which they are, what their bodies hold, and which writes are refused.
#include "bytecode/aliasing.h"
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

TEST(Full, WritesAndViewsStandAsTheyAreWritten) {
  EXPECT_EQ(instance(R"(
    func @f(mut %x: f32[2,3], %y: f32[3]) {
      %r = select %x {axis=0, index=1}
      %a = add_ %r, %y
      %b = add_ %x, %y
      %t = t %x
      %f = flatten %x
      %d = diagonal %x {offset=1}
      %e = expand %y {shape=[2,3]}
      %p, %q = split %x {sizes=[1,2], axis=1}
      %o = mul 2, 3
      %c = copy_ %p, 1
      ret %t, %f
    })",
                     "f", "f32[2,3] f32[3]"),
            R"(
func @f(mut %x: f32[2,3], %y: f32[3]) -> (f32[3,2], f32[6]) {
  %2 = slice %x {start=[1, 0], limit=[2, 3], stride=[1, 1]}
  %r = view %2 {shape=[3]}
  %a = add_ %r, %y
  %5 = broadcast_to %y {shape=[2, 3]}
  %b = add_ %x, %5
  %t = transpose %x {perm=[1, 0]}
  %f = view %x {shape=[6]}
  %d = diagonal %x {offset=1}
  %e = broadcast_to %y {shape=[2, 3]}
  %p = slice %x {start=[0, 0], limit=[2, 1], stride=[1, 1]}
  %q = slice %x {start=[0, 1], limit=[2, 3], stride=[1, 1]}
  %13 = clone 2 : i64
  %14 = clone 3 : i64
  %o = mul %13, %14
  %16 = clone 1.0 : f32
  %17 = broadcast_to %16 {shape=[2, 1]}
  %c = copy_ %p, %17
  ret %t, %f
}
)");
}

TEST(Full, BlocksThatWriteAreFullAndMarkWhatTheyWrite) {
  EXPECT_EQ(instance(R"(
    func @f(mut %x: f32[2], %p: bool) {
      if %p {
        %a = neg_ %x
        yield
      } else {
        yield
      }
      %c, %y = scan (%c = 0.0; %i = %x) {
        %w = add_ %x, %c
        %d = add %c, %i
        yield %d; %x
      }
      ret %c, %y
    })",
                     "f", "f32[2] bool"),
            R"(
func @f(mut %x: f32[2], %p: bool) -> (f32, f32[2,2]) {
  cond %p, @f.then, @f.else (%x)
  %2 = clone 0.0 : f32
  %c, %y = scan @f.body (%x, %2, %x) {consts=1, carry=1, length=2}
  ret %c, %y
}

func @f.then(mut %x: f32[2]) -> () {
  %a = neg_ %x
  ret
}

func @f.else(%x: f32[2]) -> () {
  ret
}

func @f.body(mut %x: f32[2], %c: f32, %i: f32) -> (f32, f32[2]) {
  %3 = broadcast_to %c {shape=[2]}
  %w = add_ %x, %3
  %d = add %c, %i
  ret %d, %x
}
)");
}

TEST(Full, CoreOpsThatAreNoViewsAreCalls) {
  EXPECT_EQ(instance(R"(
    func @f(mut %x: f32[2,3]) {
      %m = swapaxes %x {axis1=0, axis2=1}
      %r = reshape %x {shape=[6]}
      %b = broadcast_to %x {shape=[2,2,3]}
      ret %m, %r, %b
    })",
                     "f", "f32[2,3]"),
            R"(
func @f(mut %x: f32[2,3]) -> (f32[3,2], f32[6], f32[2,2,3]) {
  %m = call @swapaxes(%x)
  %r = reshape %x {shape=[6]}
  %3 = broadcast_to %x {shape=[2, 2, 3]}
  %b = clone %3
  ret %m, %r, %b
}

func @swapaxes(%0: f32[2,3]) -> f32[3,2] {
  %1 = transpose %0 {perm=[1, 0]}
  ret %1
}
)");
}

TEST(Full, InCoreFunctionsViewsAreValues) {
  EXPECT_EQ(instance(R"(
    func @f(%x: f32[4]) {
      %v = view %x {shape=[2,2]}
      %a = alias %v
      %d = detach %a
      %u = unfold %x {axis=0, size=2}
      ret %d, %u
    })",
                     "f", "f32[4]"),
            R"(
func @f(%x: f32[4]) -> (f32[2,2], f32[3,2]) {
  %v = reshape %x {shape=[2, 2]}
  %d = stop_gradient %v
  %3 = iota {shape=[3, 2]}
  %4 = iota {shape=[3, 2], axis=1}
  %5 = add %3, %4
  %u = take %x, %5 {mode="clip"}
  ret %d, %u
}
)");
}

TEST(Full, RefusedWrites) {
  constexpr std::string_view kText = R"(
    func @a(%x: f32[2]) {
      %y = add_ %x, 1
      ret %y
    }
    func @b(%x: f32[2,2]) {
      %v = select %x {axis=0, index=0}
      %t = view %v {shape=[1,2]}
      call @c(%t)
      ret
    }
    func @c(mut %x: f32[..]) {
      %y = zero_ %x
      ret
    }
    func @grow(mut %x: f32[2], %y: f32[2,2]) {
      %z = add_ %x, %y
      ret
    }
    func @mixed(mut %x: f32[2], %y: f64[2]) {
      %z = add_ %x, %y
      ret
    }
    func @compare(mut %x: f32[2]) {
      %z = lt_ %x, 0
      ret
    }
    func @filled(mut %x: f32[2]) {
      %z = fill_ %x, [1, 2]
      ret
    }
    func @param(mut %x: f32[2,3]) {
      %z = transpose_ %x
      ret
    }
    func @slip(mut %x: f32[2]) {
      %z = ad_ %x, 0
      ret
    })";
  EXPECT_EQ(instance(kText, "a", "f32[2]"), "3: [add_] writes into %x, which is not declared mut");
  EXPECT_EQ(instance(kText, "b", "f32[2,2]"), "9: [call] writes into %x, which is not declared mut");
  EXPECT_EQ(instance(kText, "grow", "f32[2] f32[2,2]"),
            "17: [add_] expected a result of the first operand's shape and dtype, f32[2], got f32[2,2]");
  EXPECT_EQ(instance(kText, "mixed", "f32[2] f64[2]"),
            "21: [add] mixes dtypes: f32[2] and f64[2]; there is no implicit conversion, use cast");
  EXPECT_EQ(instance(kText, "compare", "f32[2]"),
            "25: [lt_] expected a result of the first operand's shape and dtype, f32[2], got bool[2]");
  EXPECT_EQ(instance(kText, "filled", "f32[2]"), "29: [fill_] expected a scalar value, got f32[2]");
  EXPECT_EQ(instance(kText, "param", "f32[2,3]"),
            "33: [transpose_] changes a tensor that the function doesn't own: a parameter, a captured value, a param "
            "or a buffer");
  EXPECT_EQ(instance(kText, "slip", "f32[2]"), "37: unknown op 'ad_'; did you mean 'add'?");
}

TEST(Full, IsKnownByTheText) {
  Loaded p(R"(
    buffer @n: f32
    func @core(%x: f32) { ret %x }
    func @mut(mut %x: f32) { ret }
    func @writes(%x: f32) {
      %y = clone %x
      %z = neg_ %y
      ret %z
    }
    func @calls(%x: f32) {
      %y = call @core(%x)
      %r = if true {
        %z = call @writes(%y)
        yield %z
      } else {
        yield %y
      }
      ret %r
    }
    func @counts(%x: f32) {
      %n = add_ @n, 1
      ret %x
    }
    func @core_grad(%x: f32) {
      %g = call grad(@writes)(%x)
      ret %g
    }
    func @full_grad(%x: f32) {
      %g = call grad(@counts)(%x)
      ret %g
    }
    func @pure(%x: f32) {
      %y, %m = call functionalize(@mut)(%x)
      ret %y
    }
    )");
  const Source user{p.program.module(), Space::User};
  std::string full;
  for (const Template& f : user.module.funcs)
    if (p.program.is_full(user, f)) full += std::string(p.tables->strings[f.name]) + ' ';
  EXPECT_EQ(full, "mut writes calls counts full_grad ");
}

}  // namespace tfvm::test
