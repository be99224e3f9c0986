// Functions that write, and custom ops, in slices: as written, with the bits of a call in one piece.
#include <cstring>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
extern op "count"(mut %x: f64[n])
buffer @total: f64
func @count_up(mut %x: f64[4], %n: i64) -> (f64[4], f64[5]) {
  %i = while (%i = 0) {
    %p = lt %i, %n
    yield %p
  } do {
    %v = narrow %x {axis=0, start=1, length=2}
    add_ %v, 1.5
    count %x
    %s = reduce_sum %x
    %big = gt %s, 20
    if %big {
      mul_ %x, 0.25
      add_ @total, 1
      yield
    } else {
      call @twice(%x)
      yield
    }
    %j = add %i, 1
    yield %j
  }
  %ys = scan (;) {length=5} {
    count %x
    %f = select %x {axis=0, index=0}
    %y = clone %f
    yield; %y
  }
  %r = clone %x
  ret %r, %ys
}
func @twice(mut %x: f64[4]) {
  mul_ %x, 2
  ret
}
func @long_plan(mut %x: f64[1000]) {
  %y = scan (%c = %x;) {length=400} {
    %s = sin %c
    %d = add %s, 0.5
    yield %d;
  }
  copy_ %x, %y
  ret
}
func @forever(mut %x: f64[1]) {
  while () {
    %p = ge 1, 0
    yield %p
  } do {
    add_ %x, 1
    yield
  }
  ret
}
func @empty() -> i64 {
  %n = call @never(3)
  ret %n
}
func @never(%n: i64) -> i64 {
  ret %n
}
param @w: f64[2] = [1, 2]
func @square(%x: f64[2]) {
  %y = mul %x, %x
  ret %y
}
func @stale() {
  %y, %p = call linearize(@square)(@w)
  mul_ @w, 2
  %t = call lin(@square)(%p, [1, 1])
  ret %t
}
func @fails(mut %x: f64[3]) {
  add_ %x, 1
  %i = clone 7
  %y = take %x, %i
  copy_ %x, %y
  ret
}
)";

int count(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view*, std::size_t, char*, std::size_t) {
  auto* x = static_cast<double*>(in[0].tensors[0].data);
  for (std::int64_t k = 0; k < in[0].tensors[0].dims[0]; ++k) x[k] += 0.125 * static_cast<double>(k + 1);
  return 0;
}

struct CApiSlicesBySteps : ::testing::Test {
  const Interpreted interpreted;
  Host h{kProgram};
  CApiSlicesBySteps() {
    tfvm_op op{};
    op.size = sizeof op;
    op.kernel = count;
    EXPECT_EQ(tfvm_register_op(h.vm, "count", &op, &h.e), TFVM_OK) << h.e.message;
  }
  int slices(const tfvm_function* f, const std::vector<const void*>& in, const std::vector<void*>& out,
             std::int64_t us) {
    int n = 1;
    tfvm_status s = tfvm_run_for(h.context, f, in.data(), in.size(), out.data(), out.size(), us, &h.e);
    for (; s == TFVM_PAUSED; ++n) s = tfvm_resume(h.context, us, &h.e);
    EXPECT_EQ(s, TFVM_OK) << h.e.message;
    return n;
  }
};

TEST_F(CApiSlicesBySteps, LoopsBranchesCallsAndCustomOps) {
  tfvm_function* f = h.prepare("@count_up");
  const std::int64_t n = 50;
  std::vector<double> x{1, 2, 3, 4}, r(4), ys(5), x2 = x, r2(4), ys2(5);
  ASSERT_EQ(h.call(f, {x.data(), &n}, {r.data(), ys.data()}), TFVM_OK) << h.e.message;
  double total = 0, total2 = 0;
  const tfvm_view v = view(&total, {}, TFVM_F64), v2 = view(&total2, {}, TFVM_F64);
  ASSERT_EQ(tfvm_state_get(h.vm, "total", &v, &h.e), TFVM_OK) << h.e.message;
  EXPECT_EQ(slices(f, {x2.data(), &n}, {r2.data(), ys2.data()}, 0), 732);  // steps of the blocks, each a slice
  ASSERT_EQ(tfvm_state_get(h.vm, "total", &v2, &h.e), TFVM_OK);
  EXPECT_EQ(x, x2);
  EXPECT_EQ(r, r2);
  EXPECT_EQ(ys, ys2);
  EXPECT_GT(total, 0);
  EXPECT_EQ(total2, 2 * total);
}

TEST_F(CApiSlicesBySteps, WithinAPlan) {
  tfvm_function* f = h.prepare("@long_plan");
  std::vector<double> x(1000, 0.25), y = x;
  ASSERT_EQ(h.call(f, {x.data()}, {}), TFVM_OK) << h.e.message;
  EXPECT_EQ(slices(f, {y.data()}, {}, 0), 402);  // 400 trips of a dear function
  EXPECT_EQ(x, y);
}

TEST_F(CApiSlicesBySteps, AbandonedCancelledAndLimited) {
  tfvm_function *f = h.prepare("@forever"), *plan = h.prepare("@long_plan");
  const std::int64_t used = tfvm_memory_used(h.vm);
  double x = 0;
  std::vector<double> many(1000, 0.25);
  const void* in[] = {&x};
  const void* row[] = {many.data()};
  ASSERT_EQ(tfvm_run_for(h.context, f, in, 1, nullptr, 0, 20, &h.e), TFVM_PAUSED);
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 1, nullptr, 0, 20, &h.e), TFVM_MISUSE);
  const double before = x;
  for (int k = 0; k < 1000 && x <= before; ++k) ASSERT_EQ(tfvm_resume(h.context, 200, &h.e), TFVM_PAUSED);
  EXPECT_GT(x, before);
  tfvm_abandon(h.context);
  EXPECT_EQ(tfvm_resume(h.context, 1, &h.e), TFVM_MISUSE);
  ASSERT_EQ(tfvm_run_for(h.context, plan, row, 1, nullptr, 0, 0, &h.e), TFVM_PAUSED);  // within the plan
  ASSERT_EQ(tfvm_resume(h.context, 0, &h.e), TFVM_PAUSED);
  tfvm_abandon(h.context);
  ASSERT_EQ(tfvm_run_for(h.context, f, in, 1, nullptr, 0, 20, &h.e), TFVM_PAUSED);
  tfvm_cancel(h.context);
  EXPECT_EQ(tfvm_resume(h.context, 1'000'000, &h.e), TFVM_CANCELLED);
  EXPECT_EQ(h.error().substr(0, 16), "cancelled a.tfa:");
  ASSERT_EQ(tfvm_set_limits(h.context, 1000, 0), TFVM_OK);
  x = 0;
  tfvm_status s = tfvm_run_for(h.context, f, in, 1, nullptr, 0, 0, &h.e);
  while (s == TFVM_PAUSED) s = tfvm_resume(h.context, 0, &h.e);
  EXPECT_EQ(s, TFVM_LIMIT);
  EXPECT_NE(std::strstr(h.e.message, "the limit of 1000 steps"), nullptr) << h.e.message;
  EXPECT_EQ(x, 1000);
  ASSERT_EQ(tfvm_set_limits(h.context, 0, 2000), TFVM_OK);  // a deadline
  EXPECT_EQ(h.call(f, {&x}, {}), TFVM_LIMIT);
  s = tfvm_run_for(h.context, f, in, 1, nullptr, 0, 100, &h.e);
  while (s == TFVM_PAUSED) s = tfvm_resume(h.context, 100, &h.e);
  EXPECT_EQ(s, TFVM_LIMIT);
  EXPECT_NE(std::strstr(h.e.message, "deadline"), nullptr);
  ASSERT_EQ(tfvm_set_limits(h.context, 0, 0), TFVM_OK);
  ASSERT_EQ(tfvm_run_for(h.context, f, in, 1, nullptr, 0, 20, &h.e), TFVM_PAUSED);
  tfvm_abandon(h.context);
  EXPECT_LE(tfvm_memory_used(h.vm), used + 200'000);  // the context's slab
}

TEST_F(CApiSlicesBySteps, FailuresNameTheLine) {
  tfvm_function* f = h.prepare("@fails");
  std::vector<double> x(3, 1);
  const void* in[] = {x.data()};
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 1, nullptr, 0, 1'000'000, &h.e), TFVM_INDEX);
  EXPECT_EQ(h.error().substr(0, 14), "index a.tfa:78");
  EXPECT_EQ(x[0], 2);
  double out[2];
  void* row[] = {out};
  EXPECT_EQ(tfvm_run_for(h.context, h.prepare("@stale"), nullptr, 0, row, 1, 1'000'000, &h.e), TFVM_TYPE);
  EXPECT_EQ(
      h.error(),
      "type a.tfa:72 a pack that keeps f64[2] of its inputs is used after mul_ in line 71 has written into it: use "
      "the pack before, or make it of a clone\nnote: in @stale");
  tfvm_function* g = h.prepare("@count_up");
  const std::int64_t n = 1;
  const void* both[] = {x.data(), &n};
  void* to[] = {x.data(), x.data()};
  EXPECT_EQ(tfvm_run_for(h.context, g, both, 2, to, 2, 1, &h.e), TFVM_MISUSE);
}

}  // namespace
}  // namespace tfvm::testing
