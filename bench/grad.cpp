// How long does it take to differentiate? grad of a chain of n elementwise instructions: time per instruction must not
// grow with n.
#include <benchmark/benchmark.h>

#include "tests/transforms/program.h"
#include "transforms/compositions.h"

namespace tfvm {
namespace {

FunctionId chain(Tables& t, std::int64_t n) {
  constexpr Op kOps[] = {Op::sin, Op::mul, Op::add, Op::exp, Op::tanh, Op::div};
  Builder b(t, {}, "chain");
  const TypeId type = t.types.tensor(DType::F32, {4});
  const ValueId x = b.param(type), y = b.param(type);
  ValueId v = x;
  for (std::int64_t k = 0; k < n; ++k) {
    const Op op = kOps[k % 6];
    v = info(op).kind == OpKind::Unary ? b.emit(op, {v}) : b.emit(op, {v, y});
  }
  return *b.seal({b.emit(Op::reduce_sum, {v})});
}

void BM_grad(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    test::TransformProgram p;
    if (!p.load("")) return state.SkipWithError("the stdlib does not load");
    const FunctionId f = chain(p.t, state.range(0));
    state.ResumeTiming();
    const Result<FunctionId> g = grad_transform(p.env, f, {{0, 1}, false}, false);
    if (!g) return state.SkipWithError(g.error().message.c_str());
    benchmark::DoNotOptimize(g->body);
  }
  state.SetComplexityN(state.range(0));
  state.counters["s_per_instr"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_grad)->Name("grad")->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond)->Complexity();

// Calls are not inlined: a chain of n functions, each calling the next twice, costs n passes, not 2^n.
void BM_grad_of_nested_calls(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    test::TransformProgram p;
    if (!p.load("")) return state.SkipWithError("the stdlib does not load");
    FunctionId f;
    const TypeId type = p.t.types.scalar(DType::F64);
    for (std::int64_t k = 0; k < state.range(0); ++k) {
      Builder b(p.t, {}, "f" + std::to_string(k));
      const ValueId x = b.param(type);
      ValueId y = b.emit(Op::sin, {x});
      for (int twice = 0; f && twice < 2; ++twice) y = b.emit(Op::call, {y}, {{Key::callee, f}});
      f = *b.seal({y});
    }
    state.ResumeTiming();
    const Result<FunctionId> g = grad_transform(p.env, f, {}, false);
    if (!g) return state.SkipWithError(g.error().message.c_str());
    benchmark::DoNotOptimize(g->body);
  }
}
BENCHMARK(BM_grad_of_nested_calls)->Name("grad_nested_calls")->Arg(40)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tfvm
