// Custom ops run as written and as what functionalize makes of them: the same values, in both forms. The cases are
// those of pytorch/pytorch#198031, #131192, #153389.
#include <gtest/gtest.h>

#include "tests/vm/machine.h"
#include "vm/vm.h"

namespace tfvm::testing {

namespace {

constexpr std::string_view kProgram = R"(
extern op "rev"(%src: f32[..a], mut %dst: f32[..a])
extern op "two"(mut %a: f32[..], mut %b: f32[..])
extern op "inc"(mut %z: f32[..])
extern op "half"(mut %z: f32[..])

func @reverse(mut %x: f32[8]) {
  %y = clone %x
  rev %y, %x
  %z = mul %x, 2.0
  ret %z
}

func @overlap(mut %t: f32[4]) {
  %a = narrow %t {axis=0, start=0, length=3}
  %b = narrow %t {axis=0, start=1, length=3}
  two %a, %b
  %c = clone %a
  %d = clone %b
  ret %c, %d
}

func @middle(mut %base: f32[6]) {
  %z = narrow %base {axis=0, start=3, length=3}
  inc %z
  ret
}

func @columns(mut %x: f32[2,3]) {
  %t = transpose %x
  %c = select %t {axis=0, index=1}
  %s = clone %c
  inc %c
  %r = sub %c, %s
  ret %r, %s
}

func @loop(mut %x: f32[3]) {
  for (;) {length=4} {
    inc %x
    yield
  }
  ret
}

func @half(%x: f32[..s]) -> f32[..s] {derivative=@half_rule} {
  %y = clone %x
  half %y
  ret %y
}
func @half_rule(%x: f32[..s], %y: f32[..s], %t: f32[..s]) -> f32[..s] {
  %d = mul %t, 0.5
  ret %d
}

// x^8 / 8
func @after(%x: f32) -> f32 {
  %n, %y = while (%i = 0, %c = %x) {
    %g = lt %i, 3
    yield %g
  } do {
    %s = mul %c, %c
    %j = add %i, 1
    yield %j, %s
  }
  %h = call @half(%y)
  %k = call @half(%h)
  %r = call @half(%k)
  ret %r
}
// ((x²/2)²/2)²/2 = x^8 / 128
func @within(%x: f32) -> f32 {
  %n, %y = while (%i = 0, %c = %x) {
    %g = lt %i, 3
    yield %g
  } do {
    %s = mul %c, %c
    %h = call @half(%s)
    %j = add %i, 1
    yield %j, %h
  }
  ret %y
}
// after of after: 512 x^64 / 8^9
func @twice(%x: f32) -> f32 {
  %c = scan (%c = %x;) {length=2} {
    %d = call @after(%c)
    yield %d;
  }
  %e = mul %c, 512.0
  ret %e
}

func @scanned(mut %x: f32[3]) {
  %c, %ys = scan (%c = 0.0; %e = %x) {
    inc %x
    %d = add %c, %e
    yield %d; %e
  }
  ret %ys
}

func @nothing(mut %x: f32[2]) {
  %none = clone [] : f32[3,5,0]
  %v = slice %none {start=[3, 1, 0], limit=[3, 4, 0], stride=[1, 1, 1]}
  inc %v
  inc %x
  %r = clone %v
  ret %r
}

func @mapped(mut %x: f32[2]) {
  inc %x
  %y = mul %x, 3.0
  ret %y
}
)";

float& at(const Tensor& x, std::int64_t i) {  // of a vector or of a row-major tensor
  return x.as<float>()[x.rank() == 1 ? i * x.layout().strides[0] : i];
}

CustomOp op(std::function<void(std::span<const CustomArg>)> run) {
  CustomOp c;
  c.kernel = [run = std::move(run)](std::span<const CustomArg> args, std::span<const Tensor>) -> Status {
    run(args);
    return ok();
  };
  c.strided = true;
  return c;
}

struct Custom {
  std::unique_ptr<VM> vm = *VM::create();
  Context context;

  Custom() {
    vm->register_op("rev", op([](std::span<const CustomArg> a) {
                      for (std::int64_t k = 0; k < 8; ++k) at(*a[1], 7 - k) = at(*a[0], k);
                    }));
    vm->register_op("two", op([](std::span<const CustomArg> a) {
                      for (std::int64_t k = 0; k < (*a[0]).elements(); ++k) at(*a[0], k) *= 10;
                      for (std::int64_t k = 0; k < (*a[1]).elements(); ++k) at(*a[1], k) += 1;
                    }));
    vm->register_op("inc", op([](std::span<const CustomArg> a) {
                      for (std::int64_t k = 0; k < (*a[0]).elements(); ++k) at(*a[0], k) += 1;
                    }));
    vm->register_op("half", op([](std::span<const CustomArg> a) {
                      for (std::int64_t k = 0; k < (*a[0]).elements(); ++k) a[0]->as<float>()[k] *= 0.5f;
                    }));
    const Status s = vm->load_text(kProgram, "custom.tfa");
    EXPECT_TRUE(s) << (s ? "" : s.error().message);
  }

  // Results, then the input as it is afterwards.
  std::vector<std::string> run(const std::string& callee, const std::string& input) {
    const Tensor x = *parse_tensor(input);
    const TypeId type = vm->type_of(x);
    const Result<Function> f = vm->entry(callee, {&type, 1});
    if (!f) return {f.error().message};
    auto out = vm->call(context, *f, std::span(&x, 1));
    if (!out) return {out.error().message};
    out->push_back(x);
    std::vector<std::string> texts;
    for (const Tensor& y : *out) texts.push_back(print(y, {.full = true}));
    return texts;
  }

  // As written, and functional in both forms: there the new value is the last result, and the input as it was.
  void expect(const std::string& name, const std::string& input, const std::vector<std::string>& wanted) {
    EXPECT_EQ(run("@" + name, input), wanted) << name;
    std::vector<std::string> functional = wanted;
    functional.push_back(print(*parse_tensor(input), {.full = true}));
    EXPECT_EQ(run("functionalize(@" + name + ")", input), functional) << name;
    EXPECT_EQ(run("functionalize(@" + name + ", auto=\"v1\")", input), functional) << name << " v1";
  }
};

}  // namespace

TEST(CustomFunctional, TheCloneBeforeTheOpStays) {
  Custom().expect(
      "reverse", "f32[8] [0, 1, 2, 3, 4, 5, 6, 7]",
      {"f32[8] [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0, 0.0]", "f32[8] [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]"});
}

TEST(CustomFunctional, WrittenArgumentsThatOverlap) {
  Custom().expect("overlap", "f32[4] [1, 2, 3, 4]",
                  {"f32[3] [10.0, 21.0, 31.0]", "f32[3] [21.0, 31.0, 5.0]", "f32[4] [10.0, 21.0, 31.0, 5.0]"});
}

TEST(CustomFunctional, ViewsAtAnOffsetAndAcross) {
  Custom().expect("middle", "f32[6] [0, 1, 2, 3, 4, 5]", {"f32[6] [0.0, 1.0, 2.0, 4.0, 5.0, 6.0]"});
  Custom().expect("columns", "f32[2,3] [[1, 2, 3], [4, 5, 6]]",
                  {"f32[2] [1.0, 1.0]", "f32[2] [2.0, 5.0]", "f32[2,3] [[1.0, 3.0, 3.0], [4.0, 6.0, 6.0]]"});
}

// A slice of nothing begins at an offset that its empty base does not have.
TEST(CustomFunctional, ViewsOfNothing) {
  Custom().expect("nothing", "f32[2] [1, 2]", {"f32[0,3,0] []", "f32[2] [2.0, 3.0]"});
}

TEST(CustomFunctional, InLoopsTheyAreCarried) {
  Custom().expect("loop", "f32[3] [1, 2, 3]", {"f32[3] [5.0, 6.0, 7.0]"});
}

TEST(CustomFunctional, UnderVmapLanesRunOneByOne) {
  EXPECT_EQ(Custom().run("vmap(@mapped)", "f32[2,2] [[1, 2], [3, 4]]"),
            (std::vector<std::string>{"f32[2,2] [[6.0, 9.0], [12.0, 15.0]]", "f32[2,2] [[2.0, 3.0], [4.0, 5.0]]"}));
}

// Tapes that steps write, hand on, stack and read; the input is printed behind the results.
TEST(CustomFunctional, InReverseModeOverWhile) {
  EXPECT_EQ(Custom().run("grad(@after)", "f32 2"), (std::vector<std::string>{"f32 128.0", "f32 2.0"}));
  EXPECT_EQ(Custom().run("grad(@within)", "f32 2"), (std::vector<std::string>{"f32 8.0", "f32 2.0"}));
  EXPECT_EQ(Custom().run("grad(@twice)", "f32 1"), (std::vector<std::string>{"f32 0.00024414062", "f32 1.0"}));
  EXPECT_EQ(Custom().run("vmap(grad(@within))", "f32[2] [2, 1]"),
            (std::vector<std::string>{"f32[2] [8.0, 0.0625]", "f32[2] [2.0, 1.0]"}));
}

// A pack that leaves its call has the tapes that steps wrote.
TEST(CustomFunctional, TapesLeaveInPacks) {
  Custom c;
  const Value x = c.vm->value(*parse_tensor("f32 2"));
  const Result<Function> fwd = c.vm->entry("fwd(@within)", {&x.type, 1});
  ASSERT_TRUE(fwd) << fwd.error().message;
  const auto out = c.vm->call(c.context, *fwd, std::span(&x, 1));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(c.run("grad(@within)", "f32 1"), (std::vector<std::string>{"f32 0.0625", "f32 1.0"}));
  const std::vector<Value> in{(*out)[1], c.vm->value(*parse_tensor("f32 1"))};
  const std::vector<TypeId> types{in[0].type, in[1].type};
  const Result<Function> bwd = c.vm->entry("bwd(@within)", types);
  ASSERT_TRUE(bwd) << bwd.error().message;
  const auto back = c.vm->call(c.context, *bwd, in);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(print(back->front().tensor(), {.full = true}), "f32 8.0");
}

TEST(CustomFunctional, WhatIsScannedIsAValue) {
  Custom().expect("scanned", "f32[3] [1, 2, 3]", {"f32[3] [1.0, 2.0, 3.0]", "f32[3] [4.0, 5.0, 6.0]"});
}

}  // namespace tfvm::testing
