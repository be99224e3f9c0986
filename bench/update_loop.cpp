// What does one update of an array of n elements cost within a loop? (T(2m) − T(m)) / m for a scan of m updates at
// neighbouring places, forward and under grad: the copy of the initial carry and the zeroing of the cotangent, which
// cost n, cancel out. The time per step must not grow with n.
#include <algorithm>
#include <chrono>

#include <benchmark/benchmark.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::int64_t kSteps = 10000;

std::string program(std::string_view update) {
  return "func @loop(%x: f32[n], %i: i64[m], %u: f32[m]) {\n"
         "  %c = scan (%c = %x; %k = %i, %v = %u) {\n"
         "    %r = reshape %v {shape=[1]}\n" +
         std::string(update == "scatter" ? "    %p = reshape %k {shape=[1]}\n    %d = scatter_along %c, %p, %r\n"
                                         : "    %d = dynamic_update_slice %c, %r, %k\n") +
         "    yield %d;\n  }\n  ret %c\n}\n"
         "func @loss(%x: f32[n], %i: i64[m], %u: f32[m]) {\n"
         "  %c = call @loop(%x, %i, %u)\n  %h = slice %c {start=[0], limit=[8]}\n"
         "  %s = reduce_sum %h {axes=[0]}\n  ret %s\n}\n";
}

Tensor zeros(DType dtype, std::int64_t n) {
  Tensor t = *Tensor::make(nullptr, dtype, std::span(&n, 1));
  std::fill_n(t.data(), static_cast<std::size_t>(t.bytes()), std::byte{0});
  return t;
}

struct Loop {
  std::unique_ptr<VM> vm = *VM::create();
  Context context;

  // The least of five runs, in seconds; negative where it fails.
  double time(const std::string& callee, std::int64_t n, std::int64_t m) {
    std::vector<Tensor> in{zeros(DType::F32, n), zeros(DType::I64, m), zeros(DType::F32, m)};
    for (std::int64_t k = 0; k < m; ++k) in[1].as<std::int64_t>()[k] = k % n;
    std::vector<TypeId> types;
    for (const Tensor& t : in) types.push_back(vm->type_of(t));
    const Result<Function> f = vm->entry(callee, types);
    double best = -1;
    for (int run = 0; f && run < 5; ++run) {
      const auto begin = std::chrono::steady_clock::now();
      if (!vm->call(context, *f, in)) return -1;
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      best = best < 0 ? s : std::min(best, s);
    }
    return best;
  }
};

void BM_update(benchmark::State& state, const std::string& update, const std::string& callee) {
  Loop loop;
  if (!loop.vm->load_text(program(update), "loop.tfa")) return state.SkipWithError("the program does not load");
  double step = 0;
  for (auto _ : state) {
    const double once = loop.time(callee, state.range(0), kSteps),
                 twice = loop.time(callee, state.range(0), 2 * kSteps);
    if (once < 0 || twice < 0) return state.SkipWithError("the program does not run");
    step = (twice - once) / kSteps;
    state.SetIterationTime(std::max(step, 1e-12));
  }
  state.counters["ns_per_step"] = step * 1e9;
}

void sizes(benchmark::internal::Benchmark* b) {
  b->RangeMultiplier(10)->Range(10000, 10000000)->Iterations(3)->UseManualTime()->Unit(benchmark::kNanosecond);
}
BENCHMARK_CAPTURE(BM_update, scatter, "scatter", "@loop")->Name("update_loop/scatter")->Apply(sizes);
BENCHMARK_CAPTURE(BM_update, slice, "slice", "@loop")->Name("update_loop/slice")->Apply(sizes);
BENCHMARK_CAPTURE(BM_update, grad_scatter, "scatter", "grad(@loss, argnums=[2])")
    ->Name("update_loop/grad_scatter")
    ->Apply(sizes);
BENCHMARK_CAPTURE(BM_update, grad_slice, "slice", "grad(@loss, argnums=[2])")
    ->Name("update_loop/grad_slice")
    ->Apply(sizes);

}  // namespace
}  // namespace tfvm
