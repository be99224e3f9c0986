// Control flow: blocks become functions, what they capture leading constants.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

TEST(Blocks, IfPassesWhatEitherBranchUses) {
  EXPECT_EQ(instance(R"(
    func @f(%p: bool, %x: f64, %y: f64) {
      %one = clone 1.0 : f64
      %r = if %p {
        %a = sin %y
        yield %a
      } else {
        %b = mul %x, %y
        yield %b
      }
      ret %r
    })",
                     "f", "bool f64 f64"),
            R"(
func @f(%p: bool, %x: f64, %y: f64) -> f64 {
  %r = cond %p, @f.then, @f.else (%y, %x)
  ret %r
}

func @f.then(%y: f64, %x: f64) -> f64 {
  %a = sin %y
  ret %a
}

func @f.else(%y: f64, %x: f64) -> f64 {
  %b = mul %x, %y
  ret %b
}
)");
}

TEST(Blocks, ALiteralTakesTheDtypeOfTheOtherBranch) {
  constexpr std::string_view kText = R"(
    func @then(%p: bool, %x: f64) {
      %r = if %p { yield 0 } else { yield %x }
      ret %r
    }
    func @else(%p: bool, %x: f64) {
      %r = if %p { yield %x } else { yield 0 }
      ret %r
    }
    func @clash(%p: bool, %x: f64) {
      %r = if %p { yield %x } else { yield %p }
      ret %r
    })";
  for (std::string_view name : {"then", "else"}) EXPECT_TRUE(instance(kText, name, "bool f64").starts_with("\nfunc"));
  EXPECT_TRUE(instance(kText, "clash", "bool f64").starts_with("11: [cond]")) << instance(kText, "clash", "bool f64");
}

TEST(Blocks, WhileHasConstantsOfItsOwnForConditionAndBody) {
  EXPECT_EQ(instance(R"(
    func @f(%x: f64, %n: i64) {
      %i, %v = while (%i = 0, %v = %x) {
        %k = lt %i, %n
        yield %k
      } do {
        %w = mul %v, %x
        %j = add %i, 1
        yield %j, %w
      }
      ret %v
    })",
                     "f", "f64 i64"),
            R"(
func @f(%x: f64, %n: i64) -> f64 {
  %2 = clone 0 : i64
  %i, %v = while @f.cond, @f.body (%n, %x, %2, %x) {cond_consts=1, body_consts=1}
  ret %v
}

func @f.cond(%n: i64, %i: i64, %v: f64) -> bool {
  %k = lt %i, %n
  ret %k
}

func @f.body(%x: f64, %i: i64, %v: f64) -> (i64, f64) {
  %w = mul %v, %x
  %j = add %i, 1
  ret %j, %w
}
)");
}

TEST(Blocks, ScanCountsItsStepsWhereTheyAreUsed) {
  EXPECT_EQ(instance(R"(
    func @f(%xs: f32[5,2], %w: f32) {
      %c, %ys, %is = scan (%c = %w; %x = %xs) {reverse=true} {
        %s = reduce_sum %x
        %p = eq %scan.i, 0
        %c2 = if %p {
          %q = mul %w, %s
          yield %q
        } else {
          yield %c
        }
        yield %c2; %s, %scan.i
      }
      ret %c, %ys, %is
    })",
                     "f", "f32[5,2] f32"),
            R"(
func @f(%xs: f32[5,2], %w: f32) -> (f32, f32[5], i64[5]) {
  %2 = iota {shape=[5]}
  %c, %ys, %is = scan @f.body (%w, %w, %xs, %2) {consts=1, carry=1, length=5, reverse=true}
  ret %c, %ys, %is
}

func @f.body(%w: f32, %c: f32, %x: f32[2], %scan.i: i64) -> (f32, f32, i64) {
  %s = reduce_sum %x {axes=[0]}
  %p = eq %scan.i, 0
  %c2 = cond %p, @f.body.then, @f.body.else (%w, %s, %c)
  ret %c2, %s, %scan.i
}

func @f.body.then(%w: f32, %s: f32, %c: f32) -> f32 {
  %q = mul %w, %s
  ret %q
}

func @f.body.else(%w: f32, %s: f32, %c: f32) -> f32 {
  ret %c
}
)");
}

TEST(Blocks, AConstantConditionTakesOneBranchInPlace) {
  constexpr std::string_view kText = R"(
    func @loss<reduction: str = "mean">(%x: f32[n]) {
      %r = if (reduction == "sum" or reduction == "mean" and n > 3) {
        %s = reduce_sum %x
        yield %s
      } else {
        %t = not %x
        yield %t
      }
      ret %r
    }
    func @bad(%x: f32[n]) {
      %r = if (n) { yield %x } else { yield %x }
      ret %r
    })";
  EXPECT_EQ(instance(kText, "loss", "f32[4]"), R"(
func @loss(%x: f32[4]) -> f32 {
  %s = reduce_sum %x {axes=[0]}
  ret %s
}
)");
  EXPECT_TRUE(instance(kText, "loss", "f32[2]").starts_with("7: [not]"));
  EXPECT_EQ(instance(kText, "bad", "f32[2]"), "13: [if] a computed condition must be true or false");
}

TEST(Blocks, Errors) {
  constexpr std::string_view kText = R"(
    func @carry(%x: f32) {
      %y = scan (%c = %x;) {length=3} { yield %c, %c; }
      ret %y
    }
    func @scalar(%x: f32) {
      %y = scan (; %c = %x) { yield ; %c }
      ret %y
    }
    func @endless(%x: f32) {
      %y = scan (%c = %x;) {reverse=true} { yield %c; }
      ret %y
    }
    func @dtype(%x: f32) {
      %y = while (%c = %x) { yield true } do { %i = cast %c {dtype=f64}
        yield %i }
      ret %y
    })";
  EXPECT_EQ(instance(kText, "carry", "f32"), "3: [scan] carries 1 values, its block yields 2 before ';'");
  EXPECT_EQ(instance(kText, "scalar", "f32"), "7: [scan] steps along the leading dim of its inputs; one is f32");
  EXPECT_EQ(instance(kText, "endless", "f32"), "11: [scan] needs the attribute 'length', as it has no inputs");
  EXPECT_TRUE(instance(kText, "dtype", "f32").starts_with("15: [while]")) << instance(kText, "dtype", "f32");
}

TEST(Blocks, FormsThatNameTheirFunctions) {
  const std::string text = instance(R"(
    func @a(%x: f64[..], %y: f64) { ret %x }
    func @b(%x: f64[..], %y: f64) {
      %z = neg %x
      ret %z
    }
    func @body(%k: f64, %c: f64, %x: f64) {
      %s = add %c, %x
      %t = mul %s, %k
      ret %t, %s
    }
    func @below(%lim: f64, %v: f64) {
      %p = lt %v, %lim
      ret %p
    }
    func @twice(%v: f64) {
      %w = add %v, %v
      ret %w
    }
    func @f(%p: bool, %i: i64, %xs: f64[3]) {
      %r = cond %p, @a, @b (%xs, 1)
      %s = switch %i, [@b, @a, @b] (%xs, 2)
      %c, %ys = scan @body (0.5, 1, %s) {consts=1, carry=1}
      %v = while @below, @twice (100, %c) {cond_consts=1}
      %w = checkpoint @twice (%v)
      ret %r, %w
    })",
                                    "f", "bool i64 f64[3]");
  EXPECT_TRUE(text.starts_with(R"(
func @f(%p: bool, %i: i64, %xs: f64[3]) -> (f64[3], f64) {
  %3 = clone 1.0 : f64
  %r = cond %p, @a, @b (%xs, %3)
  %5 = clone 2.0 : f64
  %s = switch %i, [@b, @a, @b] (%xs, %5)
  %7 = clone 0.5 : f64
  %c, %ys = scan @body (%7, %3, %s) {consts=1, carry=1, length=3}
  %10 = clone 100.0 : f64
  %v = while @below, @twice (%10, %c) {cond_consts=1}
  %w = checkpoint @twice (%v) {policy="nothing_saveable"}
  ret %r, %w
}
)")) << text;
}

}  // namespace tfvm::test
