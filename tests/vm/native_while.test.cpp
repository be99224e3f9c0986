// `while` as machine code: which become one loop, that bits and steps are those of the interpreter, and that what may
// end or interrupt a call does so.
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "native_run.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @root(%a0: f64, %x0: f64) {
  %a1 = abs %a0
  %a = add %a1, 0.1
  %i, %x = while (%i = 0, %x = %x0) {
    %q = mul %x, %x
    %r = sub %q, %a
    %e = abs %r
    %m = gt %e, 1e-12
    %n = lt %i, 60
    %k = and %m, %n
    yield %k
  } do {
    %q = mul %x, %x
    %r = sub %q, %a
    %t = mul %x, 2
    %s = div %r, %t
    %y = sub %x, %s
    %j = add %i, 1
    yield %j, %y
  }
  ret %i, %x
}
func @roots = vmap(@root)
func @roots_of_roots = vmap(vmap(@root))
func @slope = jvp(@root)
func @slopes = vmap(jvp(@root))

// Every kind of value that is carried; two change places, one stays, one nobody reads; cond asks a function.
func @kinds(%x: f32, %y: f32, %p: bool, %z: f64, %n: i32) {
  %a, %b, %q, %w, %k, %u, %c = while (%a = %x, %b = %y, %q = %p, %w = %z, %k = %n, %u = %y, %c = 0) {
    %s = sin %a
    %m = gt %s, -0.9
    %l = lt %c, 40
    %g = and %m, %l
    yield %g
  } do {
    %c2 = add %c, 1
    %d = cast %c2 {dtype=f32}
    %e = mul %a, 1.25
    %e2 = add %e, %d
    %f = gt %e2, %b
    %q2 = xor %f, %q
    %w2 = mul %w, 0.99
    %k2 = mul %k, 3
    %k3 = select %q2, %k2, %k
    yield %b, %e2, %q2, %w2, %k3, %e, %c2
  }
  ret %a, %b, %q, %w, %k, %u, %c
}
func @kinds_of = vmap(@kinds)

// States of a few numbers, and a condition that sums.
func @spiral(%x: f32[3], %m: f32[3,3]) {
  %s, %i = while (%s = %x, %i = 0) {
    %q = mul %s, %s
    %r = reduce_sum %q
    %k = gt %r, 1e-3
    %n = lt %i, 50
    %g = and %k, %n
    yield %g
  } do {
    %v = mul %m, %s
    %p = reduce_sum %v {axes=[1]}
    %t = tanh %p
    %u = mul %t, 0.7
    %j = add %i, 1
    yield %u, %j
  }
  ret %s, %i
}
func @spirals = vmap(@spiral, in_dims=[0, none])
// The same by a product of matrices, in a function of its own.
func @turned(%s: f32[3], %m: f32[3,3]) {
  %p = dot %m, %s
  %t = tanh %p
  %u = mul %t, 0.7
  ret %u
}
func @turning(%x: f32[3], %m: f32[3,3]) {
  %s, %i = while (%s = %x, %i = 0) {
    %f = slice %s {start=[0], limit=[1]}
    %e = reshape %f {shape=[]}
    %a = abs %e
    %k = gt %a, 1e-2
    %n = lt %i, 50
    %g = and %k, %n
    yield %g
  } do {
    %u = call @turned(%s, %m)
    %j = add %i, 1
    yield %u, %j
  }
  ret %s, %i
}
func @turnings = vmap(@turning)

// One count for all lanes, whose values never decide.
func @counted(%x: f32[n], %c: i64) {
  %i, %y = while (%i = 0, %y = %x) {
    %g = lt %i, %c
    yield %g
  } do {
    %s = sin %y
    %j = add %i, 1
    yield %j, %s
  }
  ret %i, %y
}
func @thousands(%x: f32[n]) {
  %i, %y = call @counted(%x, 60000)
  ret %i, %y
}

// Carries change places, so that none is updated in place.
func @places(%x: f32[n], %y: f32[n]) {
  %a, %b, %i = while (%a = %x, %b = %y, %i = 0) {
    %more = lt %i, 1001
    yield %more
  } do {
    %s = mul %a, 0.999
    %t = add %s, %b
    %u = mul %t, 0.5
    %j = add %i, 1
    yield %b, %u, %j
  }
  ret %a, %b, %i
}

// Goes on with all lanes while one wants to: lanes that are done change.
func @together(%x: f32[n]) {
  %y = while (%y = %x) {
    %b = gt %y, 0.01
    %g = reduce_or %b
    yield %g
  } do {
    %z = mul %y, 0.5
    yield %z
  }
  ret %y
}
// The same, with a flag that does not hold its lane back.
func @loose(%x: f32[n]) {
  %b0 = gt %x, 0.01
  %b, %y = while (%b = %b0, %y = %x) {
    %g = reduce_or %b
    yield %g
  } do {
    %z = mul %y, 0.5
    %c = gt %z, 0.01
    %d = and %b, %c
    yield %d, %z
  }
  ret %y
}
// And one whose flag comes back.
func @again(%x: f32[n]) {
  %b0 = gt %x, 0.01
  %b, %i, %y = while (%b = %b0, %i = 0, %y = %x) {
    %g = reduce_or %b
    yield %g
  } do {
    %z = mul %y, 0.5
    %j = add %i, 1
    %l = lt %j, 9
    %s = lt %y, 0.5
    %c = and %s, %l
    %w = select %b, %z, %y
    yield %c, %j, %w
  }
  ret %y
}
func @forever(%x: f64) {
  %i, %y = while (%i = 0, %y = %x) {
    %g = ge %i, 0
    yield %g
  } do {
    %z = mul %y, 0.5
    %j = and %i, 7
    %k = add %j, 1
    yield %k, %z
  }
  ret %y
}
func @all_forever = vmap(@forever)
// As long as it isn't large: never, where it is nan.
func @doubled(%x: f32) {
  %i, %y = while (%i = 0, %y = %x) {
    %a = abs %y
    %g = lt %a, 1e30
    yield %g
  } do {
    %z = mul %y, -2
    %j = add %i, 1
    yield %j, %z
  }
  ret %i, %y
}
func @doubled_all = vmap(@doubled)
func @loss(%x: f32) {
  %i, %y = call @doubled(%x)
  ret %y
}
func @doubled_grad = grad(@loss)
// Many records of several numbers, and as many trips as are asked for.
func @wander(%n: i64, %x: f64, %a: f64) {
  %i, %y, %z = while (%i = 0, %y = %x, %z = %a) {
    %g = lt %i, %n
    yield %g
  } do {
    %s = sin %y
    %c = cos %z
    %p = mul %s, %c
    %q = mul %a, %p
    %r = add %q, %y
    %t = mul %r, 0.9
    %w = mul %s, %z
    %j = add %i, 1
    yield %j, %t, %w
  }
  %v = mul %y, %z
  ret %v
}
func @wander_grad = grad(@wander, argnums=[1, 2])
func @wander_hvp = hvp(@wander, argnums=[1, 2])
// Lanes that make their trips together.
func @wanders(%n: i64, %x: f64[k], %a: f64) {
  %i, %y = while (%i = 0, %y = %x) {
    %g = lt %i, %n
    yield %g
  } do {
    %s = sin %y
    %q = mul %a, %s
    %r = mul %q, %y
    %t = tanh %r
    %j = add %i, 1
    yield %j, %t
  }
  %v = reduce_sum %y
  ret %v
}
func @wanders_grad = grad(@wanders, argnums=[1, 2])
)";

void expect_native(const std::string& function, const std::vector<std::string>& types, const Runner& runner = {}) {
  expect_native(kProgram, function, types, runner);
}

// Code at once, with few registers, and code that comes while the loop runs.
std::vector<TierOptions> tiers() {
  std::vector<TierOptions> list{{.tier = Tier::Jit}, {.tier = Tier::Jit, .few_registers = true}};
  for (const std::int64_t hot : {1, 1000, 20000}) list.push_back({.tier = Tier::Auto, .sync = true, .hot = hot});
  return list;
}

TEST(NativeWhile, Scalars) {
  expect_native("@root", {"f64", "f64"});
  expect_native("@slope", {"f64", "f64", "f64", "f64"});
  expect_native("@kinds", {"f32", "f32", "bool", "f64", "i32"});
  expect_native("@spiral", {"f32[3]", "f32[3,3]"});
  expect_native("@turning", {"f32[3]", "f32[3,3]"});
}

TEST(NativeWhile, Batches) {
  for (const char* n : {"1", "3", "8", "33", "150", "1024"}) {
    const std::string d = std::string("[") + n + "]";
    expect_native("@roots", {"f64" + d, "f64" + d});
    expect_native("@slopes", {"f64" + d, "f64" + d, "f64" + d, "f64" + d});
    expect_native("@kinds_of", {"f32" + d, "f32" + d, "bool" + d, "f64" + d, "i32" + d});
    expect_native("@spirals", {std::string("f32[") + n + ",3]", "f32[3,3]"});
    expect_native("@turnings", {std::string("f32[") + n + ",3]", std::string("f32[") + n + ",3,3]"});
    expect_native("@counted", {"f32" + d, "i64"});
  }
  expect_native("@roots_of_roots", {"f64[20,3]", "f64[20,3]"});
}

// Zero trips give the initial values; so does nan, of which no comparison holds.
TEST(NativeWhile, NanAndNoTrips) {
  for (const char* d : {"", "[1]", "[5]", "[40]"}) {
    const std::string function = *d ? "@doubled_all" : "@doubled";
    for (const float first : {0.0f, 2e30f, std::numeric_limits<float>::infinity()}) {
      const Runner with_nan = [&](Context& context, const Plan& plan, std::span<const Tensor> in) {
        float* x = reinterpret_cast<float*>(in[0].data());
        for (std::int64_t k = 0; k < plan.params[0].bytes / 4; ++k) {
          if (first != 0) x[k] = first;
          if (k % 3 == 0) x[k] = std::numeric_limits<float>::quiet_NaN();
        }
        return context.call(plan, in);
      };
      const std::vector<std::string> types{std::string("f32") + d};
      const NativeRun expected = run_native(kProgram, function, types, {.tier = Tier::Interp}, with_nan);
      const NativeRun got = run_native(kProgram, function, types, {.tier = Tier::Jit}, with_nan);
      EXPECT_EQ(got.native, NestCompiler::is_available() ? 1 : 0);
      expect_equal(got, expected, function + d);
    }
  }
}

// Lanes that are done must stay as they are: such loops are no machine code.
TEST(NativeWhile, LanesThatChangeWhenTheyAreDone) {
  for (const char* function : {"@together", "@loose", "@again"}) {
    const NativeRun expected = run_native(kProgram, function, {"f32[150]"}, {.tier = Tier::Interp});
    const NativeRun got = run_native(kProgram, function, {"f32[150]"}, {.tier = Tier::Jit});
    EXPECT_EQ(got.native, 0) << function;
    expect_equal(got, expected, function);
  }
}

// The loop of the forward pass writes tapes, that of the backward pass reads them, in pieces as they stand in chunks.
TEST(NativeWhile, ReverseMode) {
  expect_native("@doubled_grad", {"f32"});
  for (const std::int64_t trips : {0, 1, 2, 40, 3000})
    for (const char* function : {"@wander_grad", "@wander_hvp", "@wanders_grad"}) {
      const std::string d = function == std::string("@wanders_grad") ? "[13]" : "";
      std::vector<std::string> types{"i64", "f64" + d, "f64"};
      if (function == std::string("@wander_hvp")) types.insert(types.end(), {"f64", "f64"});
      int pauses = 0;
      const NativeRun expected = run_native(kProgram, function, types, {.tier = Tier::Interp}, with_first(trips));
      for (const Runner& runner : {with_first(trips), with_first(trips, pausing(pauses))})
        for (const TierOptions& tier : tiers()) {
          const NativeRun got = run_native(kProgram, function, types, tier, runner);
          expect_equal(got, expected, function);
          EXPECT_TRUE(tier.tier != Tier::Jit || got.native == (NestCompiler::is_available() ? got.loops : 0))
              << function;
        }
    }
}

TEST(NativeWhile, Pauses) {
  if (!NestCompiler::is_available()) GTEST_SKIP();
  int pauses = 0;
  expect_native("@thousands", {"f32[1]"}, pausing(pauses));
  EXPECT_GT(pauses, 5);
  expect_native("@thousands", {"f32[300]"}, pausing(pauses));
  EXPECT_GT(pauses, 500);
  expect_native("@roots", {"f64[5000]", "f64[5000]"}, pausing(pauses));
  expect_native("@root", {"f64", "f64"}, pausing(pauses));
}

TEST(NativeWhile, LooksAtTheFlag) {
  std::atomic<bool> cancel = false;
  const Runner watched = [&](Context& context, const Plan& plan, std::span<const Tensor> in) {
    context.limits.cancel = &cancel;
    return context.call(plan, in);
  };
  expect_native("@thousands", {"f32[20]"}, watched);
  expect_native("@roots", {"f64[150]", "f64[150]"}, watched);
}

// What never ends by itself ends by the flag, the deadline, or the limit.
TEST(NativeWhile, EndsWhenItMust) {
  using namespace std::chrono_literals;
  const auto ends = [](const std::string& function, const std::string& type, auto set, std::string_view why) {
    run_native(kProgram, function, {type}, {.tier = Tier::Jit},
               [&](Context& context, const Plan& plan, std::span<const Tensor> in) {
                 set(context);
                 const auto r = context.call(plan, in);
                 EXPECT_TRUE(!r && r.error().message.find(why) != std::string::npos) << function << why;
                 return Result<std::vector<Tensor>>(std::vector<Tensor>{});
               });
  };
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  for (const auto& [function, type] : {std::pair("@forever", "f64"), std::pair("@all_forever", "f64[100]")}) {
    std::atomic<bool> cancel = false;
    std::thread other([&] {
      std::this_thread::sleep_for(20ms);
      cancel = true;
    });
    ends(
        function, type, [&](Context& c) { c.limits.steps = kMany, c.limits.cancel = &cancel; }, "cancelled");
    other.join();
    ends(
        function, type,
        [](Context& c) { c.limits.steps = kMany, c.limits.deadline = std::chrono::steady_clock::now() + 20ms; },
        "deadline");
    ends(
        function, type, [](Context& c) { c.limits.steps = 1234567; }, "limit of 1234567 steps");
    ends(
        function, type, [](Context& c) { c.limits.steps = 0; }, "limit of 0 steps");
  }
}

// Each trip is a step, and so is the last look at the condition: with one less it ends as the interpreter does.
TEST(NativeWhile, StepLimit) {
  for (const bool is_watched : {false, true})
    for (const Tier tier : {Tier::Interp, Tier::Jit}) {
      std::atomic<bool> cancel = false;
      const Runner limited = [&](Context& context, const Plan& plan, std::span<const Tensor> in) {
        if (is_watched) context.limits.cancel = &cancel;
        EXPECT_TRUE(context.call(plan, in));
        const std::int64_t used = 100000 - context.steps_left();
        context.limits.steps = used - 1;
        EXPECT_FALSE(context.call(plan, in));
        EXPECT_LT(context.steps_left(), 0);
        context.limits.steps = used;
        return context.call(plan, in);
      };
      run_native(kProgram, "@root", {"f64", "f64"}, {.tier = tier}, limited);
      run_native(kProgram, "@roots", {"f64[150]", "f64[150]"}, {.tier = tier}, limited);
      run_native(kProgram, "@thousands", {"f32[8]"}, {.tier = tier}, limited);
    }
}

// Code that comes while the loop is interpreted takes it over, wherever the trips before left the carries.
TEST(NativeWhile, TakesOver) {
  for (std::int64_t hot : {1, 100, 1000, 5000, 20000}) {
    const TierOptions tier{.tier = Tier::Auto, .sync = true, .hot = hot};
    for (const std::string function : {"@kinds_of", "@roots", "@places"}) {
      std::vector<std::string> types{"f32[20]", "f32[20]", "bool[20]", "f64[20]", "i32[20]"};
      if (function == "@roots") types = {"f64[20]", "f64[20]"};
      if (function == "@places") types = {"f32[20]", "f32[20]"};
      const NativeRun got = run_native(kProgram, function, types, tier);
      expect_equal(got, run_native(kProgram, function, types, {.tier = Tier::Interp}), function);
    }
    const NativeRun got = run_native(kProgram, "@thousands", {"f32[8]"}, tier);
    EXPECT_EQ(got.native, NestCompiler::is_available() ? 1 : 0);
    expect_equal(got, run_native(kProgram, "@thousands", {"f32[8]"}, {.tier = Tier::Interp}), "@thousands");
  }
}

}  // namespace
}  // namespace tfvm
