// What does a frame cost while new code comes? A loop of 60 frames a second that meets 200 programs, one at a time: in
// each frame it calls the programs it knows, and now and then prepares another. In tier `auto` machine code is made by
// a thread of the VM. The worst frames (p99.9 of 10,000) against those of the same loop in tier `interp`.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "vm/vm.h"

namespace {

using namespace tfvm;
using Clock = std::chrono::steady_clock;

constexpr int kPrograms = 200, kCalled = 8;
constexpr std::int64_t kElements = 4096;

std::string program(int k) {
  static constexpr const char* kOps[] = {"sin", "cos", "tanh", "exp", "abs", "sqrt", "neg", "floor"};
  std::string body;
  for (int n = 0; n < 4; ++n) body += fmt::format("  %v{} = {} %v{}\n", n + 1, kOps[((k >> (2 * n)) ^ (k * 5 + n)) & 7], n);
  return fmt::format("func @f{}(%x: f32[{}]) {{\n  %v0 = mul %x, {}.5\n{}  %r = add %v4, %x\n  ret %r\n}}\n", k,
                     kElements, k, body);
}

double ms(Clock::time_point from) { return std::chrono::duration<double, std::milli>(Clock::now() - from).count(); }

struct Frames {
  std::vector<double> call, prepare;
};

// Times of frames: their calls, and, apart, what they prepare.
Frames run(Tier tier, int frames) {
  VmOptions options;
  options.tier.tier = tier;
  options.tier.hot = 1 << 16;
  const auto vm = *VM::create(options);
  std::string text;
  for (int k = 0; k < kPrograms; ++k) text += program(k);
  if (!vm->load_text(text, "frames.tfa")) std::abort();
  Context context(vm->budget());
  const Tensor x = *Tensor::make(vm->budget(), DType::F32, std::vector{kElements});
  const Tensor y = *Tensor::make(vm->budget(), DType::F32, std::vector{kElements});
  for (std::int64_t k = 0; k < kElements; ++k) x.as<float>()[k] = static_cast<float>(k % 100) / 50;
  const std::vector<Tensor> in{x}, out{y};
  std::vector<Function> known;
  Frames times;
  for (int frame = 0; frame < frames; ++frame) {
    Clock::time_point start = Clock::now();
    const int due = static_cast<int>(static_cast<std::int64_t>(frame) * kPrograms / frames) + 1;
    while (static_cast<int>(known.size()) < due) {
      auto f = vm->entry_as_written(fmt::format("f{}", known.size()));
      if (!f) std::abort();
      known.push_back(*std::move(f));
    }
    times.prepare.push_back(ms(start));
    start = Clock::now();
    for (std::size_t k = known.size() - std::min<std::size_t>(known.size(), kCalled); k < known.size(); ++k)
      if (!context.call(*known[k].plan, in, out)) std::abort();
    times.call.push_back(ms(start));
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // the rest of the frame, in short
  }
  return times;
}

double at(std::vector<double>& v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
}

void frames(benchmark::State& state) {
  for (auto _ : state) {
    Frames interp = run(Tier::Interp, 10'000), automatic = run(Tier::Auto, 10'000);
    state.counters["interp_ms"] = at(interp.call, 0.999);
    state.counters["auto_ms"] = at(automatic.call, 0.999);
    state.counters["over_ms"] = at(automatic.call, 0.999) - at(interp.call, 0.999);
    state.counters["prepare_ms"] = at(automatic.prepare, 0.999);
  }
}
BENCHMARK(frames)->Unit(benchmark::kMillisecond);

}  // namespace
