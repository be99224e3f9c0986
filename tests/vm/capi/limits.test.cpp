#include <chrono>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

TEST(CApiLimits, StepsAndTime) {
  Host h(kMany);
  tfvm_function* f = h.prepare("@forever");
  const std::int64_t x = 1;
  std::int64_t y = 0;
  ASSERT_EQ(tfvm_set_limits(h.context, 1000, 0), TFVM_OK);
  EXPECT_EQ(h.call(f, {&x}, {&y}), TFVM_LIMIT);
  EXPECT_EQ(h.error().substr(0, 54), "limit a.tfa:22 the limit of 1000 steps is reached\nnote");
  ASSERT_EQ(tfvm_set_limits(h.context, 0, 2000), TFVM_OK);
  const auto begin = Clock::now();
  EXPECT_EQ(h.call(f, {&x}, {&y}), TFVM_LIMIT);
  EXPECT_GE(Clock::now() - begin, microseconds(2000));
  EXPECT_NE(std::string(h.e.message).find("the deadline has passed"), std::string::npos);
  ASSERT_EQ(tfvm_set_limits(h.context, 0, 0), TFVM_OK);
  float out[2];
  EXPECT_EQ(h.call(h.prepare("@none"), {}, {out}), TFVM_OK);
}

TEST(CApiLimits, CancelEndsAnInfiniteWhileWithinAMillisecond) {
  Host h(kMany);
  const std::int64_t x = 1;
  std::int64_t y = 0;
  EXPECT_LT(cancel_ms(h, h.prepare("@forever"), {&x}, {&y}), 1.0);
  EXPECT_EQ(h.error().substr(0, 41), "cancelled a.tfa:22 the call was cancelled");
}

// One step that takes some 0.1 s: a fused nest without any loop of the program.
TEST(CApiLimits, NestsAreCancelledAndTimed) {
  std::string body = "  %v = iota {shape=[100000000], axis=0, dtype=f32}\n  %a = mul %v, %x\n";
  std::string last = "a";
  for (int k = 0; k < 8; ++k) {
    const std::string name = "b" + std::to_string(k);
    body += "  %" + name + " = sin %" + last + "\n";
    last = name;
  }
  Host h("func @f(%x: f32) {\n" + body + "  %s = reduce_sum %" + last + "\n  ret %s\n}\n");
  tfvm_function* f = h.prepare("@f");
  ASSERT_LT(tfvm_working_bytes(f), 1 << 20);  // it is one nest
  const float x = 1;
  float y = 0;
  EXPECT_LT(cancel_ms(h, f, {&x}, {&y}), 1.0);
  ASSERT_EQ(tfvm_set_limits(h.context, 0, 1000), TFVM_OK);
  const auto begin = Clock::now();
  EXPECT_EQ(h.call(f, {&x}, {&y}), TFVM_LIMIT);
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(100));
}

TEST(CApiLimits, ACancelIsUsedUp) {
  Host h(kMany);
  tfvm_function* f = h.prepare("@forever");
  const std::int64_t x = -1, endless = 1;
  std::int64_t y = 0;
  tfvm_cancel(h.context);
  EXPECT_EQ(h.call(f, {&endless}, {&y}), TFVM_CANCELLED);
  EXPECT_EQ(h.call(f, {&x}, {&y}), TFVM_OK);
  EXPECT_EQ(y, -1);
  const float one[] = {1, 1};
  float small[2] = {};
  tfvm_function* square = h.prepare("@square", "f32[2]");
  tfvm_cancel(h.context);  // what is too small to be watched is cancelled before it begins
  EXPECT_EQ(h.call(square, {one}, {small}), TFVM_CANCELLED);
  EXPECT_EQ(h.call(square, {one}, {small}), TFVM_OK);
}

TEST(CApiLimits, MemoryLimit) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.memory_limit = 200'000;
  Host h("func @f(%x: f32[n]) {\n  %a = cumsum %x {axis=0}\n  %b = cumsum %a {axis=0}\n  ret %b\n}\n", &o);
  std::vector<float> x(100'000), y(100'000);
  EXPECT_EQ(h.call(h.prepare("@f", "f32[1000]"), {x.data()}, {y.data()}), TFVM_OK) << h.e.message;
  EXPECT_EQ(h.call(h.prepare("@f", "f32[100000]"), {x.data()}, {y.data()}), TFVM_MEMORY);
  EXPECT_LE(tfvm_memory_peak(h.vm), 200'000);
  tfvm_set_memory_limit(h.vm, 0);
  EXPECT_EQ(h.call(h.functions.back(), {x.data()}, {y.data()}), TFVM_OK) << h.e.message;
}

}  // namespace
}  // namespace tfvm::testing
