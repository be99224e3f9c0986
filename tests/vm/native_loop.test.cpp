// Scans as machine code: which become one loop, and that bits are those of the interpreter, for every form of a scan
// and every kind of step that is unrolled.
#include <atomic>

#include "native_run.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @pendulum(%th: f32[n], %om: f32[n], %c: f32[n]) {
  %a, %b = for (%t = %th, %o = %om) {length=50} {
    %s = sin %t
    %p = mul %s, -9.81
    %d = mul %c, %o
    %acc = sub %p, %d
    %k = mul %acc, 0.01
    %o2 = add %o, %k
    %h = mul %o2, 0.01
    %t2 = add %t, %h
    yield %t2, %o2
  }
  ret %a, %b
}
func @miss(%th: f32[n], %om: f32[n], %c: f32[n]) {
  %a, %b = call @pendulum(%th, %om, %c)
  %p = mul %a, %b
  %r = reduce_sum %p
  ret %r
}
func @pendulum_grad = grad(@miss, argnums=[0, 1, 2])
func @pendulum_hessian = hvp(@miss)

// Rows in and out, backwards; a carry that stays, two that change places, one that nobody reads.
func @rows(%x: f64[n], %y: f64[n], %w: f64[n], %us: f64[t,n], %scale: f64[t]) {
  %a, %b, %k, %l, %outs, %flags = scan (%a = %x, %b = %y, %k = %w, %l = %y; %u = %us, %s = %scale) {reverse=true} {
    %q = mul %u, %s
    %p = add %a, %q
    %r = mul %p, %k
    %f = gt %r, %b
    yield %b, %r, %k, %u; %r, %f
  }
  ret %a, %b, %k, %l, %outs, %flags
}
// Integers, bools, conversions, a counter that is the same for all lanes.
func @kinds(%x: i64[n], %p: bool[n], %z: f32[n]) {
  %a, %b, %i, %c = for (%a = %x, %b = %p, %i = 0, %c = %z) {length=9} {
    %j = add %i, 1
    %d = cast %i {dtype=f32}
    %e = mul %c, %d
    %f = sin %e
    %g = gt %f, 0.25
    %h = xor %g, %b
    %m = mul %a, 6364136223846793005
    %o = add %m, %j
    %q = select %h, %o, %a
    yield %q, %h, %j, %f
  }
  ret %a, %b, %i, %c
}
// States of a few numbers: slices, concat, pad, sums, products of small matrices.
func @small(%x: f32[n,3], %m: f32[3,3], %ms: f32[n,3,3]) {
  %a = for (%s = %x;) {length=7} {
    %p = dot %s, %m
    %v = reshape %p {shape=[(n), 3, 1]}
    %q = matmul %ms, %v
    %r = reshape %q {shape=[(n), 3]}
    %first = slice %r {start=[0, 0], limit=[(n), 1]}
    %rest = slice %r {start=[0, 1], limit=[(n), 3]}
    %turned = concat %rest, %first {axis=1}
    %padded = pad %first, 0.5 {low=[0, 1], high=[0, 1]}
    %t = add %turned, %padded
    %norm = reduce_sum %t {axes=[1], keepdims=true}
    %big = reduce_max %t {axes=[1], keepdims=true}
    %n1 = abs %norm
    %n2 = add %n1, 1
    %u = div %t, %n2
    %w = sub %u, %big
    %z = tanh %w
    yield %z;
  }
  ret %a
}
func @small_sum(%x: f32[n,3], %m: f32[3,3], %ms: f32[n,3,3]) {
  %a = call @small(%x, %m, %ms)
  %r = reduce_sum %a
  ret %r
}
func @small_grad = grad(@small_sum, argnums=[0, 1, 2])
// Beside it a value of fewer dims: lanes are those that both have.
func @mixed(%x: f32[n,3], %t: f32[n]) {
  %a, %b = for (%s = %x, %u = %t) {length=9} {
    %c = reshape %u {shape=[(n), 1]}
    %d = mul %s, %c
    %e = sin %d
    %f = mul %u, 0.9
    yield %e, %f
  }
  ret %a, %b
}
// No batch: every number is a value of its own.
func @one(%x: f64[4], %m: f64[4,4]) {
  %a, %tr = scan (%s = %x;) {length=20} {
    %y = dot %m, %s
    %z = tanh %y
    yield %z; %z
  }
  %q = mul %tr, %tr
  %r = reduce_sum %q
  ret %r, %a
}
func @one_loss(%x: f64[4], %m: f64[4,4]) {
  %r, %a = call @one(%x, %m)
  ret %r
}
func @one_grad = grad(@one_loss, argnums=[0, 1])
func @long(%x: f32, %us: f32[60000]) {
  %a, %c, %ys = scan (%a = %x, %c = %x; %u = %us) {reverse=true} {
    %s = sin %a
    %b = add %s, %u
    %d = mul %b, %c
    yield %b, %c; %d
  }
  ret %a, %c, %ys
}
// A counter of all lanes beside carries of each.
func @counted(%x: f32[150], %n: f32) {
  %a, %i, %is = scan (%a = %x, %i = %n;) {length=3000} {
    %j = add %i, 1
    %k = mul %i, 0.001
    %s = sin %a
    %b = add %s, %k
    yield %b, %j; %k
  }
  ret %a, %i, %is
}
func @scalar(%x: f32, %y: f32) {
  %a, %b = for (%a = %x, %b = %y) {length=300} {
    %s = sin %a
    %c = add %s, %b
    %d = mul %c, 0.5
    yield %b, %d
  }
  ret %a, %b
}
)";

void expect_native(const std::string& function, const std::vector<std::string>& types, const Runner& runner = {}) {
  expect_native(kProgram, function, types, runner);
}

TEST(NativeLoop, Batches) {
  for (const char* n : {"1", "3", "8", "33", "150"}) {
    const std::string v = std::string("f32[") + n + "]";
    expect_native("@pendulum", {v, v, v});
    expect_native("@pendulum_grad", {v, v, v});
  }
  expect_native("@scalar", {"f32", "f32"});
}

TEST(NativeLoop, RowsAndCarries) {
  for (const char* n : {"1", "5", "40"}) {
    const std::string v = std::string("f64[") + n + "]";
    expect_native("@rows", {v, v, v, std::string("f64[6,") + n + "]", "f64[6]"});
  }
}

TEST(NativeLoop, Kinds) {
  for (const char* n : {"1", "7", "70"}) {
    const std::string d = std::string("[") + n + "]";
    expect_native("@kinds", {"i64" + d, "bool" + d, "f32" + d});
  }
  expect_native("@counted", {"f32[150]", "f32"});
}

TEST(NativeLoop, SmallDims) {
  for (const char* n : {"1", "2", "20"}) {
    const std::string d = std::string("[") + n;
    expect_native("@small", {"f32" + d + ",3]", "f32[3,3]", "f32" + d + ",3,3]"});
    expect_native("@mixed", {"f32" + d + ",3]", "f32" + d + "]"});
  }
  expect_native("@one", {"f64[4]", "f64[4,4]"});
  expect_native("@one_grad", {"f64[4]", "f64[4,4]"});
}

// One lane of many elements is faster as nests, trip by trip; a few elements, and a batch of as many, are not.
TEST(NativeLoop, LongStatesAreNests) {
  if (!NestCompiler::is_available()) GTEST_SKIP();
  constexpr std::string_view program = R"(
func @heat(%u: f32[..]) {
  %r = for (%v = %u) {length=9} {
    %l = roll %v {shift=[1], axis=[-1]}
    %m = roll %v {shift=[-1], axis=[-1]}
    %s = add %l, %m
    %d = mul %v, 2
    %e = sub %s, %d
    %f = mul %e, 0.25
    %w = add %v, %f
    yield %w
  }
  ret %r
}
)";
  for (const auto& [type, native] : {std::pair{"f32[12]", 1}, {"f32[16,60]", 1}, {"f32[60]", 0}, {"f32[400]", 0}}) {
    const NativeRun got = run_native(program, "@heat", {type}, {.tier = Tier::Jit});
    EXPECT_EQ(got.native, native) << type;
    expect_equal(got, run_native(program, "@heat", {type}, {.tier = Tier::Interp}), type);
  }
}

// A few trips at a time where somebody watches: a run that pauses whenever it may has the same bits and steps.
TEST(NativeLoop, Pauses) {
  if (!NestCompiler::is_available()) GTEST_SKIP();
  int pauses = 0;
  const Runner paused = pausing(pauses);
  expect_native("@long", {"f32", "f32[60000]"}, paused);
  expect_native("@counted", {"f32[150]", "f32"}, paused);
  EXPECT_GT(pauses, 20);
}

TEST(NativeLoop, LooksAtTheFlag) {
  std::atomic<bool> cancel = false;
  expect_native("@long", {"f32", "f32[60000]"}, [&](Context& context, const Plan& plan, std::span<const Tensor> in) {
    context.limits.cancel = &cancel;
    return context.call(plan, in);
  });
}

// The trip that goes beyond the limit of steps is where it ends, as in the interpreter.
TEST(NativeLoop, StepLimit) {
  const Runner limited = [](Context& context, const Plan& plan, std::span<const Tensor> in) {
    context.limits.steps = 299;
    EXPECT_FALSE(context.call(plan, in));
    context.limits.steps = 300;
    return context.call(plan, in);
  };
  run_native(kProgram, "@scalar", {"f32", "f32"}, {.tier = Tier::Interp}, limited);
  run_native(kProgram, "@scalar", {"f32", "f32"}, {.tier = Tier::Jit}, limited);
}

}  // namespace
}  // namespace tfvm
