// Calls and control flow: what a callee writes comes back as results or carries.
#include "tests/functionalize/made.h"

namespace tfvm::test {

TEST(FunctionalizeControl, CallsGetTheBasesTheyWrite) {
  EXPECT_EQ(functional(R"(
    func @two(mut %a: f32[3], mut %b: f32[3]) {
      %x = mul_ %a, 10.0
      %y = add_ %b, 1.0
      ret %b
    }
    func @f(mut %t: f32[4]) {
      %a = narrow %t {axis=0, start=0, length=3}
      %b = narrow %t {axis=0, start=1, length=3}
      %r = call @two(%a, %b)
      %n = neg_ %r
      ret
    })",
                       "f", "f32[4]"),
            R"(
func @f.functionalize(%t: f32[4]) -> f32[4] {
  %1 = call @two.functionalize(%t)
  %2 = slice %1 {start=[1], limit=[4], stride=[1]}
  %n = neg %2
  %5 = dynamic_update_slice %1, %n, 1
  ret %5
}

func @two.functionalize(%0: f32[4]) -> f32[4] {
  %2 = slice %0 {start=[0], limit=[3], stride=[1]}
  %x = mul %2, 10.0
  %6 = dynamic_update_slice %0, %x, 0
  %8 = slice %6 {start=[1], limit=[4], stride=[1]}
  %y = add %8, 1.0
  %12 = dynamic_update_slice %6, %y, 1
  ret %12
}
)");
}

TEST(FunctionalizeControl, BranchesGiveWhatOneOfThemWrites) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[2], %p: bool) {
      %v = select %x {axis=0, index=1}
      %r = if %p {
        %a = neg_ %v
        yield %x
      } else {
        yield %x
      }
      ret %r
    })",
                       "f", "f32[2] bool"),
            R"(
func @f.functionalize(%x: f32[2], %p: bool) -> (f32[2], f32[2]) {
  %r, %3 = cond %p, @f.then.functionalize, @f.else.functionalize (%x)
  ret %r, %3
}

func @f.then.functionalize(%x: f32[2]) -> (f32[2], f32[2]) {
  %1 = slice %x {start=[1], limit=[2], stride=[1]}
  %2 = reshape %1 {shape=[]}
  %a = neg %2
  %4 = reshape %a {shape=[1]}
  %6 = dynamic_update_slice %x, %4, 1
  ret %6, %6
}

func @f.else.functionalize(%x: f32[2]) -> (f32[2], f32[2]) {
  ret %x, %x
}
)");
}

TEST(FunctionalizeControl, LoopsCarryWhatTheyWrite) {
  EXPECT_EQ(functional(R"(
    func @f(mut %x: f32[3], %y: f32[3]) {
      %v = select %x {axis=0, index=0}
      %c, %s = scan (%c = 0.0; %i = %y) {
        %w = add_ %v, %i
        %d = add %c, %w
        yield %d; %w
      }
      %n = while (%n = 0.0) {
        %k = lt %n, %x
        %all = reduce_and %k {axes=[0]}
        yield %all
      } do {
        %m = mul_ %x, 2.0
        %n1 = add %n, 1.0
        yield %n1
      }
      ret %c, %s, %n
    })",
                       "f", "f32[3] f32[3]"),
            R"(
func @f.functionalize(%x: f32[3], %y: f32[3]) -> (f32, f32[3], f32, f32[3]) {
  %2 = clone 0.0 : f32
  %c, %4, %s = scan @f.body.functionalize (%2, %x, %y) {carry=2, length=3}
  %n, %7 = while @f.cond.functionalize, @f.body.functionalize.1 (%2, %4)
  ret %c, %s, %n, %7
}

func @f.body.functionalize(%c: f32, %1: f32[3], %i: f32) -> (f32, f32[3], f32) {
  %3 = slice %1 {start=[0], limit=[1], stride=[1]}
  %4 = reshape %3 {shape=[]}
  %w = add %4, %i
  %6 = reshape %w {shape=[1]}
  %8 = dynamic_update_slice %1, %6, 0
  %d = add %c, %w
  ret %d, %8, %w
}

func @f.cond.functionalize(%n: f32, %x: f32[3]) -> bool {
  %2 = broadcast_to %n {shape=[3]}
  %k = lt %2, %x
  %all = reduce_and %k {axes=[0]}
  ret %all
}

func @f.body.functionalize.1(%n: f32, %x: f32[3]) -> (f32, f32[3]) {
  %m = mul %x, 2.0
  %n1 = add %n, 1.0
  ret %n1, %m
}
)");
}

// What as_strided addresses in a block is the storage of the captured view, which goes in whole, before the carries.
TEST(FunctionalizeControl, BlocksGetTheStorageThatAsStridedAddresses) {
  EXPECT_EQ(functional(R"(
    func @f(%x: f32[6], mut %y: f32[2]) {
      %v = narrow %x {axis=0, start=4, length=2}
      %c = scan (%c = %y;) {length=2} {
        %s = as_strided %v {shape=[2], strides=[1], offset=0}
        %w = add_ %y, %s
        yield %s;
      }
      ret %c
    })",
                       "f", "f32[6] f32[2]"),
            R"(
func @f.functionalize(%x: f32[6], %y: f32[2]) -> (f32[2], f32[2]) {
  %c, %3 = scan @f.body.functionalize (%x, %y, %y) {consts=1, carry=2, length=2}
  ret %c, %3
}

func @f.body.functionalize(%0: f32[6], %c: f32[2], %y: f32[2]) -> (f32[2], f32[2]) {
  %3 = iota {shape=[2]}
  %4 = take %0, %3 {mode="clip"}
  %w = add %y, %4
  ret %4, %w
}
)");
}

}  // namespace tfvm::test
