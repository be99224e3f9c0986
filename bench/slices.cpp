// How far do slices of a call run over their time? tfvm_run_for and tfvm_resume with 500 us each, thousands of slices:
// the 99.9th percentile of what they take beyond it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <tfvm.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSlice = 500;  // us
constexpr std::size_t kSlices = 5000;

void check(bool is_fine, const tfvm_error& e) {
  if (is_fine) return;
  std::fprintf(stderr, "%s\n", e.message);
  std::abort();
}

// Of one call after another, until there are enough.
std::vector<double> overruns(tfvm_context* context, const tfvm_function* f) {
  tfvm_error e = TFVM_ERROR;
  std::vector<double> x(4096), y(4096), over;
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.001 * static_cast<double>(k % 997);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  tfvm_status s = tfvm_call(context, f, in, 1, out, 1, &e);  // memory is there
  check(s == TFVM_OK, e);
  while (over.size() < kSlices) {
    const Clock::time_point begin = Clock::now();
    s = s == TFVM_PAUSED ? tfvm_resume(context, kSlice, &e) : tfvm_run_for(context, f, in, 1, out, 1, kSlice, &e);
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    check(s == TFVM_OK || s == TFVM_PAUSED, e);
    over.push_back(std::max(0.0, us - static_cast<double>(kSlice)));
  }
  tfvm_abandon(context);
  return over;
}

void slices(benchmark::State& state, const char* callee) {
  std::ifstream file(TFVM_BENCH_PROGRAMS "/slices.tfa");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  tfvm_error e = TFVM_ERROR;
  tfvm_vm* vm = nullptr;
  tfvm_function* f = nullptr;
  tfvm_context* context = nullptr;
  check(tfvm_vm_create(nullptr, &vm, &e) == TFVM_OK, e);
  check(tfvm_load_text(vm, text.data(), text.size(), "slices.tfa", nullptr, &e) == TFVM_OK, e);
  check(tfvm_prepare(vm, callee, nullptr, &f, &e) == TFVM_OK, e);
  check(tfvm_context_create(vm, nullptr, &context, &e) == TFVM_OK, e);
  for (auto _ : state) {
    std::vector<double> over = overruns(context, f);
    std::sort(over.begin(), over.end());
    const auto at = [&](double q) { return over[static_cast<std::size_t>(q * static_cast<double>(over.size() - 1))]; };
    state.counters["p50_us"] = at(0.5), state.counters["p999_us"] = at(0.999), state.counters["worst_us"] = at(1);
  }
  tfvm_function_release(f);
  tfvm_context_release(context);
  tfvm_vm_release(vm);
}
BENCHMARK_CAPTURE(slices, scalar, "@scalar")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, lanes, "@lanes")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, rows, "@rows")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, nest, "@nest")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, memory, "@memory")->Unit(benchmark::kMillisecond);

}  // namespace
