// How far a slice runs over its time, and how soon a cancel ends a call, in loops and nests of machine code; and the
// bits of what is sliced. Times of slices are recorded (--gtest_output), not asserted; of cancels the best of some is.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

using Clock = std::chrono::steady_clock;

// Loops of one lane with dear ops, of many lanes, over rows; nests that compute and nests that only move memory.
constexpr std::string_view kLong = R"(
func @scalar(%x: f64[4096]) {
  %s = reduce_sum %x
  %y = scan (%c = %s;) {length=300000} {
    %a = sin %c
    %b = exp %a
    %d = lgamma %b
    %e = tanh %d
    yield %e;
  }
  %z = mul %x, %y
  ret %z
}
func @lanes(%x: f64[4096]) {
  %y = scan (%c = %x;) {length=3000} {
    %a = mul %c, 0.99
    %b = atan %a
    yield %b;
  }
  ret %y
}
func @rows(%x: f64[4096]) {
  %w = broadcast_to %x {shape=[1000, 4096]}
  %y, %t = scan (%c = %x; %r = %w) {
    %a = mul %c, 0.99
    %b = add %a, %r
    yield %b; %a
  }
  %s = reduce_sum %t {axes=[0]}
  %z = add %y, %s
  ret %z
}
func @nest(%x: f64[4096]) {
  %w = broadcast_to %x {shape=[500, 4096]}
  %i = iota {shape=[500, 4096], axis=0, dtype=f64}
  %a = mul %w, %i
  %b = abs %a
  %c = pow %b, 0.3
  %d = erf %c
  %s = reduce_sum %d {axes=[0]}
  ret %s
}
func @memory(%x: f64[4096]) {
  %w = broadcast_to %x {shape=[2000, 4096]}
  %a = add %w, 1
  %b = reverse %a {axes=[0]}
  %c = optimization_barrier %b
  %d = add %a, %c
  %e = reverse %d {axes=[1]}
  %g = optimization_barrier %e
  %h = slice %g {start=[7, 0], limit=[8, 4096]}
  %k = reshape %h {shape=[4096]}
  ret %k
}
func @forever(%x: f64[4096]) {
  %s = reduce_sum %x
  %y = scan (%c = %s;) {length=1000000000000} {
    %a = sin %c
    %b = mul %a, 1.5
    yield %b;
  }
  %z = mul %x, %y
  ret %z
}
)";

std::vector<double> start_values() {
  std::vector<double> x(4096);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.001 * static_cast<double>(k % 997);
  return x;
}

class Overrun : public ::testing::TestWithParam<const char*> {};

TEST_P(Overrun, SlicesEndInTimeWithTheSameBits) {
  constexpr std::int64_t kSlice = 500;
  Host h(kLong);
  tfvm_function* f = h.prepare(GetParam());
  const std::vector<double> x = start_values();
  std::vector<double> whole(x.size()), sliced(x.size());
  ASSERT_EQ(h.call(f, {x.data()}, {whole.data()}), TFVM_OK) << h.error();
  const void* in[] = {x.data()};
  void* out[] = {sliced.data()};
  std::vector<double> over;
  auto begin = Clock::now();
  tfvm_status s = tfvm_run_for(h.context, f, in, 1, out, 1, kSlice, &h.e);
  while (s == TFVM_PAUSED) {
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    over.push_back(us - static_cast<double>(kSlice));
    begin = Clock::now();
    s = tfvm_resume(h.context, kSlice, &h.e);
  }
  ASSERT_EQ(s, TFVM_OK) << h.error();
  EXPECT_EQ(std::memcmp(whole.data(), sliced.data(), x.size() * sizeof(double)), 0);
  // A sum over outer dims is waited for, and so is what takes less than a slice.
  const std::string_view what = GetParam();
  if (what != "@nest" && what != "@memory") {
    ASSERT_GT(over.size(), 4u);
  }
  over.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() - kSlice);
  std::ranges::sort(over);
  RecordProperty("median_us", std::to_string(over[over.size() / 2]));
  RecordProperty("largest_us", std::to_string(over.back()));
}

INSTANTIATE_TEST_SUITE_P(All, Overrun, ::testing::Values("@scalar", "@lanes", "@rows", "@nest", "@memory"),
                         [](const auto& given) { return std::string(given.param).substr(1); });

TEST(Overrun, AnEndlessLoopOfMachineCodeIsCancelledWithinAMillisecond) {
  Host h(kLong);
  tfvm_function* f = h.prepare("@forever");
  const std::vector<double> x = start_values();
  std::vector<double> y(x.size());
  double best = 1e9;
  for (int k = 0; k < 10; ++k) {
    std::atomic<Clock::rep> asked{0};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      asked = Clock::now().time_since_epoch().count();
      tfvm_cancel(h.context);
    });
    EXPECT_EQ(h.call(f, {x.data()}, {y.data()}), TFVM_CANCELLED);
    const auto end = Clock::now().time_since_epoch().count();
    other.join();
    best = std::min(best, static_cast<double>(end - asked) / 1e6);
  }
  EXPECT_LT(best, 1.0);
}

}  // namespace
}  // namespace tfvm::testing
