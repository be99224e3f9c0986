// A call in slices of run_for and resume has the bits of a call in one piece.
#include <cmath>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kLoops = R"(
func @long(%n: i64, %x: f64) -> (f64, f64[40]) {
  %i, %v, %a = while (%i = 0, %v = %x, %a = %x) {
    %p = lt %i, %n
    yield %p
  } do {
    %j = add %i, 1
    %c, %ys = scan (%c = %v; ) {length=40} {
      %s = sin %c
      %big = gt %s, 0.5
      %t = if %big {
        %q = call @slow(%s)
        yield %q
      } else {
        %q = cos %s
        yield %q
      }
      %u = add %t, %c
      yield %u; %t
    }
    %m = reduce @more, %ys, 0.0 {axes=[0]}
    %w = mul %m, 0.01
    yield %j, %w, %c
  }
  %c, %ys = scan (%c = %v; ) {length=40} {
    %d = mul %c, 1.01
    yield %d; %d
  }
  %e = add %c, %a
  ret %e, %ys
}
func @slow(%x: f64) {
  %y = scan (%c = %x;) {length=30} {
    %d = exp %c
    %e = div %d, 4.0
    yield %e;
  }
  ret %y
}
func @more(%a: f64, %b: f64) {
  %c = add %a, %b
  %d = tanh %c
  ret %d
}
func @gradient = grad(@only, argnums=[1])
func @only(%n: i64, %x: f64) -> f64 {
  %i, %v = while (%i = 0, %v = %x) {
    %p = lt %i, %n
    yield %p
  } do {
    %j = add %i, 1
    %s = sin %v
    %t = add %s, 0.3
    yield %j, %t
  }
  ret %v
}
func @straight(%x: f64[n]) {
  %a = cumsum %x {axis=0}
  %b = cumsum %a {axis=0}
  %c = cumsum %b {axis=0}
  %d = cumsum %c {axis=0}
  ret %d
}
)";

int slices_until_done(Host& h, const tfvm_function* f, const std::vector<const void*>& in,
                      const std::vector<void*>& out, std::int64_t us) {
  int slices = 1;
  tfvm_status s = tfvm_run_for(h.context, f, in.data(), in.size(), out.data(), out.size(), us, &h.e);
  for (; s == TFVM_PAUSED; ++slices) s = tfvm_resume(h.context, us, &h.e);
  EXPECT_EQ(s, TFVM_OK) << h.e.message;
  return slices;
}

TEST(CApiSlices, NestedLoopsConditionsAndReductions) {
  const Interpreted interpreted;
  Host h(kLoops);
  tfvm_function* f = h.prepare("@long");
  const std::int64_t n = 60;
  const double x = 0.3;
  double whole = 0, sliced = 0;
  std::vector<double> ys(40), zs(40);
  ASSERT_EQ(h.call(f, {&n, &x}, {&whole, ys.data()}), TFVM_OK) << h.e.message;
  EXPECT_TRUE(std::isfinite(whole));
  EXPECT_EQ(slices_until_done(h, f, {&n, &x}, {&sliced, zs.data()}, 0), 337);  // of 256 credits each
  EXPECT_EQ(whole, sliced);
  EXPECT_EQ(ys, zs);
  EXPECT_GT(slices_until_done(h, f, {&n, &x}, {&sliced, zs.data()}, 50), 2);
  EXPECT_EQ(whole, sliced);
  EXPECT_EQ(ys, zs);
}

TEST(CApiSlices, Tapes) {
  Host h(kLoops);
  tfvm_function* f = h.prepare("@gradient");
  const std::int64_t n = 3000;
  const double x = 0.3;
  double whole = 0, sliced = 0;
  ASSERT_EQ(h.call(f, {&n, &x}, {&whole}), TFVM_OK) << h.e.message;
  const std::int64_t used = tfvm_memory_used(h.vm);
  EXPECT_GT(slices_until_done(h, f, {&n, &x}, {&sliced}, 0), 20);
  EXPECT_EQ(whole, sliced);
  EXPECT_EQ(tfvm_memory_used(h.vm), used);
}

TEST(CApiSlices, BetweenStepsOfAPlan) {
  Host h(kLoops);
  tfvm_function* f = h.prepare("@straight", "f64[100000]");
  std::vector<double> x(100'000, 1e-3), a(x), b(x);
  ASSERT_EQ(h.call(f, {x.data()}, {a.data()}), TFVM_OK) << h.e.message;
  EXPECT_GE(slices_until_done(h, f, {x.data()}, {b.data()}, 0), 2);
  EXPECT_EQ(a, b);
}

void pause_within_nests() {
  Host h(
      "func @f(%x: f32[700,1500]) {\n  %a = sin %x\n  %b = exp %a\n  %c = mul %b, %x\n  %r = reduce_sum %c "
      "{axes=[1]}\n  ret "
      "%c, %r\n}\nfunc @g(%x: f32[700,1500]) {\n  %a = tanh %x\n  %s = reduce_sum %a\n  ret %s\n}\n");
  tfvm_function *f = h.prepare("@f"), *g = h.prepare("@g");
  std::vector<float> x(700 * 1500), a(x), b(x), ra(700), rb(700);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 1013) * 0.01f;
  ASSERT_EQ(h.call(f, {x.data()}, {a.data(), ra.data()}), TFVM_OK) << h.e.message;
  EXPECT_GT(slices_until_done(h, f, {x.data()}, {b.data(), rb.data()}, 0), 20);
  EXPECT_EQ(a, b);
  EXPECT_EQ(ra, rb);
  float whole = 0, sliced = 0;
  ASSERT_EQ(h.call(g, {x.data()}, {&whole}), TFVM_OK);
  EXPECT_GT(slices_until_done(h, g, {x.data()}, {&sliced}, 0), 10);
  EXPECT_EQ(whole, sliced);
}

TEST(CApiSlices, WithinANest) { pause_within_nests(); }

TEST(CApiSlices, WithinANestOfTheInterpreter) {  // whose windows cost more than what is done between two looks
  const Interpreted interpreted;
  pause_within_nests();
}

TEST(CApiSlices, StepsCountOnce) {
  Host h(kLoops);
  tfvm_function* f = h.prepare("@only");
  const std::int64_t n = 100'000;
  const double x = 0.3;
  double y = 0;
  ASSERT_EQ(tfvm_set_limits(h.context, 100'001, 0), TFVM_OK);
  EXPECT_EQ(h.call(f, {&n, &x}, {&y}), TFVM_OK) << h.e.message;
  EXPECT_GT(slices_until_done(h, f, {&n, &x}, {&y}, 0), 10);
  ASSERT_EQ(tfvm_set_limits(h.context, 100'000, 0), TFVM_OK);
  EXPECT_EQ(h.call(f, {&n, &x}, {&y}), TFVM_LIMIT);
}

TEST(CApiSlices, APausedContextDoesNothingElse) {
  Host h(std::string(kLoops) + std::string(kMany));
  tfvm_function *f = h.prepare("@only"), *none = h.prepare("@none");
  const std::int64_t n = 1'000'000;
  const double x = 0.3;
  double y = 0;
  const void* in[] = {&n, &x};
  void* to[] = {&y};
  ASSERT_EQ(tfvm_run_for(h.context, f, in, 2, to, 1, 10, &h.e), TFVM_PAUSED);
  float out[2];
  EXPECT_EQ(h.call(none, {}, {out}), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse the context has a paused call: resume or abandon it first");
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 2, to, 1, 10, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_set_limits(h.context, 5, 5), TFVM_MISUSE);
  tfvm_abandon(h.context);
  EXPECT_EQ(tfvm_resume(h.context, 10, &h.e), TFVM_MISUSE);
  EXPECT_EQ(h.call(none, {}, {out}), TFVM_OK);
  ASSERT_EQ(tfvm_run_for(h.context, f, in, 2, to, 1, 10, &h.e), TFVM_PAUSED);
  tfvm_cancel(h.context);
  EXPECT_EQ(tfvm_resume(h.context, 1'000'000, &h.e), TFVM_CANCELLED);
  EXPECT_EQ(tfvm_resume(h.context, 10, &h.e), TFVM_MISUSE);  // it has ended
  EXPECT_EQ(h.call(none, {}, {out}), TFVM_OK);
  ASSERT_EQ(tfvm_run_for(h.context, f, in, 2, to, 1, 10, &h.e), TFVM_PAUSED);  // released while paused
}

}  // namespace
}  // namespace tfvm::testing
