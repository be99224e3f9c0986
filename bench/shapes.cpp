// What does the first call for a new shape cost, and what stays behind? 10,000 shapes of a function and of a gradient
// in one process: times of tfvm_prepare, and by how much more memory the process has at most among the last 5,000 than
// among the first (what is made is let go of when caches are full, so it goes up and down).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <tfvm.h>

namespace {

constexpr std::string_view kProgram = R"(
func @wave(%x: f32[n]) -> f32[n] {
  %a = sin %x
  %b = mul %x, %x
  %c = neg %b
  %d = exp %c
  %y = mul %a, %d
  ret %y
}
func @net(%w: f32[8,4], %b: f32[8], %x: f32[4]) -> f32 {
  %p = dot %w, %x
  %q = add %p, %b
  %h = tanh %q
  %y = reduce_sum %h
  ret %y
}
func @loss(%w: f32[8,4], %b: f32[8], %x: f32[n,4], %t: f32[n]) -> f32 {
  %y = call vmap(@net, in_dims=[none, none, 0])(%w, %b, %x)
  %l = mse_loss %y, %t
  ret %l
}
)";

using Clock = std::chrono::steady_clock;

double ms(Clock::time_point from) { return std::chrono::duration<double, std::milli>(Clock::now() - from).count(); }

long resident_kb() {
  std::FILE* f = std::fopen("/proc/self/status", "r");
  char line[256];
  long kb = 0;
  while (f && std::fgets(line, sizeof line, f))
    if (std::strncmp(line, "VmRSS:", 6) == 0) kb = std::atol(line + 6);
  if (f) std::fclose(f);
  return kb;
}

void check(tfvm_status s, const tfvm_error& e) {
  if (s == TFVM_OK) return;
  std::fprintf(stderr, "%s\n", e.message);
  std::abort();
}

constexpr int kShapes = 10'000;

// TYPES with "#" in place of the size that changes.
void shapes(benchmark::State& state, const char* callee, const char* types) {
  for (auto _ : state) {
    tfvm_vm* vm = nullptr;
    tfvm_error e = TFVM_ERROR;
    tfvm_vm_options o = TFVM_VM_OPTIONS;
    o.cache_bytes = 16 << 20;  // full before the half
    check(tfvm_vm_create(&o, &vm, &e), e);
    check(tfvm_load_text(vm, kProgram.data(), kProgram.size(), "shapes.tfa", nullptr, &e), e);
    std::vector<double> times;
    long most[2] = {0, 0};
    for (int n = 1; n <= kShapes; ++n) {
      std::string text = types;
      for (std::size_t at = text.find('#'); at != text.npos; at = text.find('#', at))
        text.replace(at, 1, std::to_string(n));
      tfvm_function* f = nullptr;
      const Clock::time_point start = Clock::now();
      check(tfvm_prepare(vm, callee, text.c_str(), &f, &e), e);
      times.push_back(ms(start));
      tfvm_function_release(f);
      if (n % 16 == 0) most[n > kShapes / 2] = std::max(most[n > kShapes / 2], resident_kb());
    }
    state.counters["growth_kb"] = static_cast<double>(most[1] - most[0]);
    std::sort(times.begin(), times.end());
    const auto at = [&](double q) { return times[static_cast<std::size_t>(q * (kShapes - 1))]; };
    state.counters["p50_ms"] = at(0.5), state.counters["p99_ms"] = at(0.99), state.counters["worst_ms"] = at(1);
    tfvm_cache_statistics s = TFVM_CACHE_STATISTICS;
    tfvm_cache_stats(vm, &s);
    state.counters["forgets"] = static_cast<double>(s.forgets);
    state.counters["kept_kb"] = static_cast<double>(s.bytes + s.made_bytes) / 1024;
    tfvm_vm_release(vm);
  }
}
BENCHMARK_CAPTURE(shapes, wave, "@wave", "f32[#]")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(shapes, grad, "grad(@loss)", "f32[8,4], f32[8], f32[#,4], f32[#]")->Unit(benchmark::kMillisecond);

}  // namespace
