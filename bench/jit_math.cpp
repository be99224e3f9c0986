// What a scalar function costs: time per element over a block of 1024 in the cache, and per call for one element, each
// call's argument depending on the result before it.
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "jit/math/array.h"

namespace {

using namespace tfvm::math;

/// Ordinary arguments, inside the domain of `name`.
template <class T>
std::vector<T> arguments(std::string_view name, std::size_t n) {
  double low = -3, high = 3;
  for (const auto positive : {"log", "log2", "sqrt", "rsqrt", "acosh", "lgamma", "digamma", "pow"}) {
    if (name == positive) low = 1, high = 20;
  }
  for (const auto unit : {"asin", "acos", "atanh", "erfinv", "log1p"}) {
    if (name == unit) low = -0.99, high = 0.99;
  }
  std::mt19937 generator(1);
  std::uniform_real_distribution<T> distribution(static_cast<T>(low), static_cast<T>(high));
  std::vector<T> out(n);
  for (auto& x : out) x = distribution(generator);
  return out;
}

template <class T>
void block(benchmark::State& state, MathFn fn, std::string_view name) {
  constexpr std::size_t n = 1024;
  const auto x = arguments<T>(name, n);
  std::vector<T> out(n);
  for (auto _ : state) {
    array_fn<T>(fn)(x.data(), x.data(), x.data(), out.data(), n);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.counters["ns_per_element"] =
      benchmark::Counter(n * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// (No DoNotOptimize here: of it the compiler makes a copy of x, which cuts the chain.)
template <class T>
void one(benchmark::State& state, MathFn fn, std::string_view name) {
  const auto row = arguments<T>(name, 1024);
  const T second = row[0];
  T x = second, out = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    array_fn<T>(fn)(&x, &second, &second, &out, 1);
    x = row[++i % 1024] + out * T(0);
  }
}

template <class T>
void register_type(const std::string& type) {
  for (std::size_t i = 0; i < kMathFnCount; ++i) {
    const auto fn = static_cast<MathFn>(i);
    const auto name = kMathFns[i].name;
    const auto suffix = std::string(name) + "/" + type;
    benchmark::RegisterBenchmark(("math/" + suffix).c_str(), [=](auto& state) { block<T>(state, fn, name); });
    benchmark::RegisterBenchmark(("math_one/" + suffix).c_str(), [=](auto& state) { one<T>(state, fn, name); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_type<float>("f32");
  register_type<double>("f64");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
