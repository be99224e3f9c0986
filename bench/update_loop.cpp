// What does one update of an array of n elements cost within a loop? (T(2m) − T(m)) / m for a scan of m updates at
// neighbouring places, forward and under grad. The copy of the initial carry and the zeroing of the cotangent, which
// cost n, cancel out and are reported apart (ms_once). The time per step must not grow with n.
//
// Every run finds what a large copy leaves: caches without the indices and updates, of which a loop reads some bytes in
// each step, so that sizes differ in n alone. Places are the same 10^4 for all sizes, and results stand in memory that
// is there already.
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

  std::vector<char> large = std::vector<char>(std::size_t{1} << 27, 1);  // more than the caches hold

  struct Case {
    Function f;
    std::vector<Tensor> in, out;
    double best = -1;  // seconds
  };

  Result<Case> make(const std::string& callee, std::int64_t n, std::int64_t m) {
    Case c;
    c.in = {zeros(DType::F32, n), zeros(DType::I64, m), zeros(DType::F32, m)};
    for (std::int64_t k = 0; k < m; ++k) c.in[1].as<std::int64_t>()[k] = k % kSteps;
    std::vector<TypeId> types;
    for (const Tensor& t : c.in) types.push_back(vm->type_of(t));
    Result<Function> f = vm->entry(callee, types);
    if (!f) return f.error();
    c.f = *std::move(f);
    for (const ValueType& r : c.f.plan->results) c.out.push_back(*Tensor::make(nullptr, r.dtype, r.dims));
    return c;
  }

  Status run(Case& c) {
    for (std::size_t k = 0; k < large.size(); k += 64) ++large[k];
    const auto begin = std::chrono::steady_clock::now();
    if (Status s = context.call(*c.f.plan, c.in, c.out); !s) return s;
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    c.best = c.best < 0 ? s : std::min(c.best, s);
    return ok();
  }
};

void BM_update(benchmark::State& state, const std::string& update, const std::string& callee) {
  Loop loop;
  if (!loop.vm->load_text(program(update), "loop.tfa")) return state.SkipWithError("the program does not load");
  Result<Loop::Case> once = loop.make(callee, state.range(0), kSteps),
                     twice = loop.make(callee, state.range(0), 2 * kSteps);
  if (!once || !twice) return state.SkipWithError("the program does not build");
  double step = 0;
  for (auto _ : state) {
    once->best = twice->best = -1;
    for (int run = 0; run < 15; ++run)  // in turn, so that both see the same machine; the least of each
      if (!loop.run(*once) || !loop.run(*twice)) return state.SkipWithError("the program does not run");
    step = (twice->best - once->best) / kSteps;
    state.SetIterationTime(std::max(step, 1e-12));
  }
  state.counters["ns_per_step"] = step * 1e9;
  state.counters["ms_once"] = (once->best - step * kSteps) * 1e3;
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
