// How long does it take to find a pattern, to color it and to make the derivative? Per column it must not grow with n,
// for a band as for an arrow (one row and one column that are full).
#include <benchmark/benchmark.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram =
    "func @tridiagonal(%x: f64[n]) -> f64 {\n"
    "  %a = slice %x {start=[1], limit=[n]}\n"
    "  %b = slice %x {start=[0], limit=[(n - 1)]}\n"
    "  %s = mul %b, %b\n  %d = sub %a, %s\n  %e = mul %d, %d\n  %r = reduce_sum %e\n  ret %r\n}\n"
    "func @arrow(%x: f64[n]) -> f64 {\n"
    "  %h = slice %x {start=[0], limit=[1]}\n"
    "  %t = slice %x {start=[1], limit=[n]}\n"
    "  %s = mul %t, %t\n  %g = broadcast_to %h {shape=[(n - 1)]}\n"
    "  %v = mul %g, %s\n  %r = reduce_sum %v\n  ret %r\n}\n";

void hess_sparse(benchmark::State& state, std::string_view function) {
  for (auto _ : state) {
    state.PauseTiming();
    auto vm = VM::create();
    if (!vm || !(*vm)->load_text(kProgram, "sparse.tfa")) return state.SkipWithError("the program does not load");
    const TypeId x = (*vm)->tables().types.tensor(DType::F64, {state.range(0)});
    state.ResumeTiming();
    const Result<Function> f = (*vm)->entry("hess_sparse(@" + std::string(function) + ")", std::span(&x, 1));
    if (!f) return state.SkipWithError(f.error().message.c_str());
    benchmark::DoNotOptimize(f->plan.get());
    state.PauseTiming();
    vm->reset();
    state.ResumeTiming();
  }
  state.counters["s_per_column"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(hess_sparse, tridiagonal, "tridiagonal")
    ->RangeMultiplier(10)
    ->Range(1000, 100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hess_sparse, arrow, "arrow")->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tfvm
