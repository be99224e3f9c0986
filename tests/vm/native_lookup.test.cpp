// Loops in machine code that look things up: in tables, in slices that move, at known places of what is carried; and
// that where an index is outside, results, errors and steps are those of the interpreter.
#include <cstring>
#include <utility>

#include "native_run.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
// A step by a table, between its points.
func @table(%x0: f32[n], %t: f32[33], %mode: f32[n]) {
  %x, %trace = scan (%x = %x0; ) {length=20} {
    %p = mul %x, 3.5
    %a = abs %p
    %i = cast %a {dtype=i32}
    %lo = take %t, %i {mode="clip"}
    %j = add %i, 1
    %hi = take %t, %j {mode="clip"}
    %d = sub %hi, %lo
    %f = cast %i {dtype=f32}
    %r = sub %a, %f
    %y = fma %d, %r, %lo
    %s = sin %y
    yield %s; %y
  }
  ret %x, %trace
}
// Rows of a table, i64 and nothing outside; a table for each lane.
func @rows(%x0: f64[n], %t: f64[9,3], %own: f64[n,5]) {
  %x = for (%x = %x0;) {length=11} {
    %p = mul %x, 4
    %i = cast %p {dtype=i64}
    %row = take %t, %i {mode="fill"}
    %nan = isnan %row
    %r = select %nan, 0.25, %row
    %s = reduce_sum %r {axes=[1]}
    %k = reshape %i {shape=[(n), 1]}
    %o = take_along %own, %k {axis=1, mode="clip"}
    %q = reshape %o {shape=[(n)]}
    %z = add %s, %q
    %c = cos %z
    yield %c;
  }
  ret %x
}
// What is carried, in another order; a window of a row that comes in.
func @turned(%x0: f32[n,4], %us: f32[t,7], %first: i64) {
  %x, %w, %i = scan (%x = %x0, %i = %first; %u = %us) {reverse=true} {
    %y = take %x, [2, 0, 3, 1] {axis=1}
    %w = dynamic_slice %u, %i {sizes=[4]}
    %v = reshape %w {shape=[1, 4]}
    %s = add %y, %v
    %z = sin %s
    %j = add %i, 1
    yield %z, %j; %w
  }
  ret %x, %w, %i
}
func @one(%x: f64, %t: f64[20]) {
  %i, %s = while (%i = 0, %s = %x) {
    %g = lt %i, 30
    yield %g
  } do {
    %v = dynamic_slice %t, %i {sizes=[1]}
    %k = mul %s, 7
    %a = abs %k
    %m = cast %a {dtype=i64}
    %e = take %t, %m {mode="clip"}
    %u = reshape %v {shape=[]}
    %p = add %u, %e
    %z = sin %p
    %j = add %i, 1
    yield %j, %z
  }
  ret %i, %s
}
// Inside, also counted from the end, where %shift is 0; beyond the end in late trips where it is 2; outside at once
// where it is -1.
func @checked(%shift: i64, %x0: f32[n], %t: f32[8], %m: f32[3,n]) {
  %i, %x, %k, %ys = scan (%i = -8, %x = %x0, %k = %m; ) {length=16} {
    %l = add %i, %shift
    %c = cast %l {dtype=i32}
    %e = take %t, %c
    %y = add %x, %e
    %z = sin %y
    %j = add %i, 1
    yield %j, %z, %k; %y
  }
  ret %i, %x, %k, %ys
}
// The same: inside where it is 0, late where it is 22, at once where it is -30.
func @checked_lanes(%shift: i64, %x0: f64[n], %t: f64[40]) {
  %lanes = iota {shape=[(n)], dtype=i64}
  %i, %x = while (%i = 0, %x = %x0) {
    %g = lt %i, 25
    yield %g
  } do {
    %l = rem %lanes, 7
    %p = add %l, %i
    %q = sub %p, 12
    %c = add %q, %shift
    %e = take %t, %c
    %y = add %x, %e
    %z = sin %y
    %j = add %i, 1
    yield %j, %z
  }
  ret %i, %x
}
// Would never end at the place that it is clamped to.
func @lost(%i0: i64, %t: i64[4]) {
  %i = while (%i = %i0) {
    %g = ge %i, 0
    yield %g
  } do {
    %e = take %t, %i
    yield %e
  }
  ret %i
}
)";

void expect_native(const std::string& function, const std::vector<std::string>& types, const Runner& runner = {}) {
  expect_native(kProgram, function, types, runner);
}

// With `shift` as the first input, and each place of @lost in the table of itself.
Runner shifted(std::int64_t shift, Runner inner = {}) {
  return with_first(shift, [=](Context& context, const Plan& plan, std::span<const Tensor> in) {
    const std::int64_t next[] = {1, 2, 9, 3};
    if (plan.params[1].dtype == DType::I64) std::memcpy(in[1].data(), next, sizeof next);
    return inner ? inner(context, plan, in) : context.call(plan, in);
  });
}

void expect_inside(const std::string& function, const std::vector<std::string>& types, const Runner& inner = {}) {
  const NativeRun expected = run_native(kProgram, function, types, {.tier = Tier::Interp}, shifted(0));
  for (const bool few_registers : {false, true}) {
    const NativeRun got =
        run_native(kProgram, function, types, {.tier = Tier::Jit, .few_registers = few_registers}, shifted(0, inner));
    EXPECT_EQ(got.native, NestCompiler::is_available() ? 1 : 0);
    expect_equal(got, expected, function);
  }
}

TEST(NativeLookup, Batches) {
  for (const char* n : {"1", "3", "8", "19", "150"}) {
    const std::string d = std::string("[") + n + "]";
    expect_native("@table", {"f32" + d, "f32[33]", "f32" + d});
    expect_native("@rows", {"f64" + d, "f64[9,3]", std::string("f64[") + n + ",5]"});
    expect_native("@turned", {std::string("f32[") + n + ",4]", "f32[6,7]", "i64"});
    expect_inside("@checked", {"i64", "f32" + d, "f32[8]", std::string("f32[3,") + n + "]"});
    expect_inside("@checked_lanes", {"i64", "f64" + d, "f64[40]"});
  }
}

TEST(NativeLookup, Scalars) { expect_native("@one", {"f64", "f64[20]"}); }

// The error of a call, and the steps that were left.
std::pair<std::string, std::int64_t> failure(const std::string& function, const std::vector<std::string>& types,
                                             const TierOptions& tier, std::int64_t shift, const Runner& inner) {
  std::string message;
  const Runner runner = [&](Context& context, const Plan& plan, std::span<const Tensor> in) {
    auto results = shifted(shift, inner)(context, plan, in);
    EXPECT_FALSE(results);
    if (!results) message = results.error().message;
    return Result<std::vector<Tensor>>(std::vector<Tensor>{});
  };
  const NativeRun run = run_native(kProgram, function, types, tier, runner);
  return {message, run.steps_left};
}

struct Failing {
  std::string function;
  std::vector<std::string> types;
  std::int64_t shift;
};

std::vector<Failing> failing() {
  std::vector<Failing> list{{"@lost", {"i64", "i64[4]"}, 0}};
  for (const std::string n : {"1", "5", "70"}) {
    for (const std::int64_t shift : {-1, 2})
      list.push_back({"@checked", {"i64", "f32[" + n + "]", "f32[8]", "f32[3," + n + "]"}, shift});
    for (const std::int64_t shift : {-30, 40})
      list.push_back({"@checked_lanes", {"i64", "f64[" + n + "]", "f64[40]"}, shift});
  }
  return list;
}

TEST(NativeLookup, FailsAsTheInterpreterDoes) {
  int pauses = 0;
  for (const Failing& f : failing()) {
    const auto expected = failure(f.function, f.types, {.tier = Tier::Interp}, f.shift, {});
    const auto expect = [&](const TierOptions& tier, const Runner& runner) {
      EXPECT_EQ(failure(f.function, f.types, tier, f.shift, runner), expected) << f.function << " hot " << tier.hot;
    };
    EXPECT_NE(expected.first, "");
    for (const Runner& runner : {Runner(), pausing(pauses)}) {
      expect({.tier = Tier::Jit}, runner);
      expect({.tier = Tier::Jit, .few_registers = true}, runner);
    }
    for (const std::int64_t hot : {1, 100, 1000, 5000}) expect({.tier = Tier::Auto, .sync = true, .hot = hot}, {});
  }
  EXPECT_GT(pauses, 0);
}

TEST(NativeLookup, Pauses) {
  int pauses = 0;
  expect_inside("@checked", {"i64", "f32[70]", "f32[8]", "f32[3,70]"}, pausing(pauses));
  expect_inside("@checked_lanes", {"i64", "f64[70]", "f64[40]"}, pausing(pauses));
  EXPECT_GT(pauses, 0);
}

}  // namespace
}  // namespace tfvm
