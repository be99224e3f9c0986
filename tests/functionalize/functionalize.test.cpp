// Views and writes within one body: chains, generations, the inverse of every view, what is refused.
#include "tests/functionalize/made.h"

namespace tfvm::test {

TEST(Functionalize, AWriteThroughAViewUpdatesItsBase) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[4]) {
      %v = narrow %x {axis=0, start=1, length=2}
      %w = mul_ %v, 2.0
      %s = reduce_sum %x {axes=[0]}
      ret %v, %s
    })",
                       "f", "f32[4]"),
            R"(
func @f.functionalize(%x: f32[4]) -> (f32[2], f32, f32[4]) {
  %2 = slice %x {start=[1], limit=[3], stride=[1]}
  %w = mul %2, 2.0
  %6 = dynamic_update_slice %x, %w, 1
  %s = reduce_sum %6 {axes=[0]}
  ret %w, %s, %6
}
)");
}

TEST(Functionalize, ChainsGoBackLinkByLink) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[3,4]) {
      %t = transpose %x {perm=[1,0]}
      %r = select %t {axis=0, index=2}
      %w = add_ %r, %r
      ret %t
    })",
                       "f", "f32[3,4]"),
            R"(
func @f.functionalize(%x: f32[3,4]) -> (f32[4,3], f32[3,4]) {
  %1 = transpose %x {perm=[1, 0]}
  %2 = slice %1 {start=[2, 0], limit=[3, 3], stride=[1, 1]}
  %3 = reshape %2 {shape=[3]}
  %w = add %3, %3
  %5 = reshape %w {shape=[1, 3]}
  %8 = dynamic_update_slice %1, %5, 2, 0
  %9 = transpose %8 {perm=[1, 0]}
  ret %8, %9
}
)");
}

TEST(Functionalize, EveryViewHasAnInverse) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[6,4]) {
      %a = slice %x {start=[1,0], limit=[6,4], stride=[2,3]}
      %b = neg_ %a
      %c = diagonal %x {offset=1}
      %d = neg_ %c
      %e = unfold %x {axis=0, size=2, step=3}
      %f = neg_ %e
      %g = as_strided %e {shape=[2], strides=[5], offset=3}
      %h = neg_ %g
      %i = view %x {shape=[24]}
      %j = neg_ %i
      %k = expand %x {shape=[1,6,4]}
      %l = neg_ %k
      ret
    })",
                       "f", "f32[6,4]"),
            R"(
func @f.functionalize(%x: f32[6,4]) -> f32[6,4] {
  %1 = slice %x {start=[1, 0], limit=[6, 4], stride=[2, 3]}
  %b = neg %1
  %3 = slice %x {start=[1, 0], limit=[6, 4], stride=[2, 1]}
  %4 = iota {shape=[3, 2], axis=1}
  %7 = mul %4, 3
  %8 = scatter_along %3, %7, %b {axis=1, mode="clip"}
  %11 = iota {shape=[3, 4]}
  %14 = mul %11, 2
  %15 = add 1, %14
  %16 = scatter_along %x, %15, %8 {mode="clip"}
  %17 = reshape %16 {shape=[24]}
  %18 = slice %17 {start=[1], limit=[12], stride=[5]}
  %d = neg %18
  %20 = iota {shape=[6, 4]}
  %21 = iota {shape=[6, 4], axis=1}
  %23 = add %20, 1
  %24 = eq %23, %21
  %26 = pad %d, 0.0 {low=[1], high=[12], interior=[4]}
  %27 = reshape %26 {shape=[6, 4]}
  %28 = select %24, %27, %16
  %29 = iota {shape=[2, 2]}
  %31 = mul %29, 3
  %32 = iota {shape=[2, 2], axis=1}
  %33 = add %31, %32
  %34 = take %28, %33 {mode="clip"}
  %35 = transpose %34 {perm=[0, 2, 1]}
  %f = neg %35
  %37 = transpose %f {perm=[0, 2, 1]}
  %38 = reshape %37 {shape=[4, 4]}
  %39 = iota {shape=[2, 2, 4]}
  %41 = mul %39, 3
  %42 = iota {shape=[2, 2, 4], axis=1}
  %43 = add %41, %42
  %44 = reshape %43 {shape=[4, 4]}
  %45 = scatter_along %28, %44, %38 {mode="clip"}
  %46 = reshape %45 {shape=[24]}
  %48 = iota {shape=[2]}
  %51 = mul %48, 5
  %52 = add 3, %51
  %53 = take %46, %52 {mode="clip"}
  %h = neg %53
  %55 = scatter_along %46, %52, %h {mode="clip"}
  %j = neg %55
  %57 = reshape %j {shape=[6, 4]}
  %58 = broadcast_to %57 {shape=[1, 6, 4]}
  %l = neg %58
  %60 = reshape %l {shape=[6, 4]}
  ret %60
}
)");
}

TEST(Functionalize, ACopyIsABaseOfItsOwn) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[2]) {
      %y = clone %x
      %w = mul_ %x, 2.0
      %z = add_ %y, 1.0
      ret %y
    })",
                       "f", "f32[2]"),
            R"(
func @f.functionalize(%x: f32[2]) -> (f32[2], f32[2]) {
  %w = mul %x, 2.0
  %z = add %x, 1.0
  ret %z, %w
}
)");
}

TEST(Functionalize, NamesThatChangeMeanTheNewView) {
  EXPECT_EQ(functional(R"(
    func @f(%x: f32[2,1]) {
      %y = clone %x
      %a = transpose_ %y
      %b = squeeze_ %y {axes=[0]}
      %c = add_ %y, [1.0, 2.0]
      ret %y, %b
    })",
                       "f", "f32[2,1]"),
            R"(
func @f.functionalize(%x: f32[2,1]) -> (f32[2], f32[2]) {
  %2 = transpose %x {perm=[1, 0]}
  %3 = reshape %2 {shape=[2]}
  %c = add %3, [1.0, 2.0]
  ret %c, %c
}
)");
}

TEST(Functionalize, WrittenGlobalsAreTheLastResults) {
  EXPECT_EQ(functional(R"(
    buffer @n: f32
    param @w: f32[2]
    func @reads(%x: f32[2]) {
      %y = mul %x, @n
      ret %y
    }
    func @f(mut %x: f32[2]) {
      %m = add_ @n, 1.0
      %y = call @reads(%x)
      %z = add_ %x, @w
      ret %y
    })",
                       "f", "f32[2]"),
            R"(
func @f.functionalize(%x: f32[2]) -> (f32[2], f32[2], f32) {
  %1 = global {name="n", index=0, shape=[], dtype=f32}
  %2, %3, %4 = call @f.functionalize.1(%1, %x)
  ret %2, %4, %3
}

func @f.functionalize.1(%n: f32, %x: f32[2]) -> (f32[2], f32, f32[2]) {
  %m = add %n, 1.0
  %y = call @reads(%m, %x)
  %5 = global {name="w", index=1, shape=[2], dtype=f32}
  %z = add %x, %5
  ret %y, %m, %z
}

func @reads(%n: f32, %x: f32[2]) -> f32[2] {
  %2 = broadcast_to %n {shape=[2]}
  %y = mul %x, %2
  ret %y
}
)");
}

TEST(Functionalize, Refusals) {
  constexpr std::string_view kText = R"(
    func @expanded(mut %x: f32[3,1]) {
      %v = expand %x {shape=[3,2]}
      %w = add_ %v, 1.0
      ret
    }
    func @windows(mut %x: f32[4]) {
      %v = unfold %x {axis=0, size=2}
      %w = neg_ %v
      ret
    }
    func @strides(mut %x: f32[2,3]) {
      %t = transpose %x
      %v = view %t {shape=[6]}
      ret
    }
    func @outside(mut %x: f32[4]) {
      %v = as_strided %x {shape=[3], strides=[2]}
      ret
    })";
  EXPECT_EQ(functional(kText, "expanded", "f32[3,1]"),
            "4: [add_] writes into an expanded view: two of its elements are one place, so their values overlap; write "
            "into a clone; in functionalize of @expanded");
  EXPECT_EQ(functional(kText, "windows", "f32[4]"),
            "9: [neg_] writes into a view whose elements overlap: two of its elements are one place, so their values "
            "overlap; write into a clone; in functionalize of @windows");
  EXPECT_EQ(functional(kText, "strides", "f32[2,3]"),
            "14: [view] the strides [1, 3] of f32[3,2] allow no view of shape [6] (view, squeeze and flatten alias; "
            "reshape copies); in functionalize of @strides");
  EXPECT_EQ(functional(kText, "outside", "f32[4]"),
            "18: [as_strided] shape=[3], strides=[2], offset=0 leaves the storage of 4 elements; in functionalize of "
            "@outside");
}

// Element 0 stands three times in %s, which is written at one of them.
TEST(Functionalize, AWriteGoesPastALinkWhoseElementsOverlap) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[4]) {
      %s = as_strided %x {shape=[3, 1], strides=[0, 2], offset=0}
      %d = diagonal %s {offset=0, axis1=0, axis2=1}
      %w = neg_ %d
      ret %s
    })",
                       "f", "f32[4]"),
            R"(
func @f.functionalize(%x: f32[4]) -> (f32[3,1], f32[4]) {
  %1 = iota {shape=[3, 1], axis=1}
  %4 = mul %1, 2
  %5 = take %x, %4 {mode="clip"}
  %6 = reshape %5 {shape=[3]}
  %7 = slice %6 {start=[0], limit=[1], stride=[2]}
  %w = neg %7
  %9 = iota {shape=[1]}
  %11 = mul %9, 2
  %12 = scatter_along %x, %11, %w {mode="clip"}
  %13 = take %12, %4 {mode="clip"}
  ret %13, %12
}
)");
}

}  // namespace tfvm::test
