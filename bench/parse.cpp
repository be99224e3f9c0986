// How fast text becomes a module, and a module text.

#include <benchmark/benchmark.h>

#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"

namespace {

using namespace tfvm;

// One function of n instructions, each with names and literals of its own.
std::string straight_line(std::int64_t n) {
  std::string s = "func @f(%v0: f32[8]) {\n";
  for (std::int64_t k = 0; k < n; ++k) {
    const std::string in = std::to_string(k), out = std::to_string(k + 1);
    s += k % 3 == 0   ? "  %v" + out + " = mul %v" + in + ", 0.5\n"
         : k % 3 == 1 ? "  %v" + out + " = sin %v" + in + "\n"
                      : "  %v" + out + " = add %v" + in + ", %v0\n";
  }
  return s + "  ret %v" + std::to_string(n) + "\n}\n";
}

void parse(benchmark::State& state) {
  const std::string text = straight_line(state.range(0));
  for (auto _ : state) {
    StringTable strings;
    auto m = parse_module(strings, text, "bench.tfa");
    if (!m) state.SkipWithError(m.error().message.c_str());
    benchmark::DoNotOptimize(m);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(parse)->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void parse_literal_of_a_million(benchmark::State& state) {
  std::string text = "param @w: f32[1000000] = [";
  for (int k = 0; k < 1'000'000; ++k) text += (k ? ", " : "") + std::to_string(k % 1000) + ".25";
  text += "]\n";
  for (auto _ : state) {
    StringTable strings;
    auto m = parse_module(strings, text, "bench.tfa");
    benchmark::DoNotOptimize(m);
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(parse_literal_of_a_million)->Unit(benchmark::kMillisecond);

void print(benchmark::State& state) {
  StringTable strings;
  const auto m = parse_module(strings, straight_line(state.range(0)), "bench.tfa");
  for (auto _ : state) benchmark::DoNotOptimize(print_module(*m, strings));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(print)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
