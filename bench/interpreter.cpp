// What does an instruction cost in the interpreter, beyond its arithmetic?
#include <benchmark/benchmark.h>

#include "bytecode/builder.h"
#include "vm/context.h"
#include "vm/plan/planner.h"

namespace tfvm {
namespace {

struct Machine {
  Tables t;
  PlanCache plans;
  Context context;
  TypeId f32 = t.types.scalar(DType::F32), i64 = t.types.scalar(DType::I64);

  PlanRef plan(Builder& b, std::span<const ValueId> results) { return *plans.get(t, *b.seal(results)); }
  void run(const Plan& p, void* in, void* out) {
    std::byte* inputs[] = {static_cast<std::byte*>(in)};
    std::byte* outputs[] = {static_cast<std::byte*>(out)};
    if (!context.run(p, inputs, outputs)) std::abort();
  }
};

// x + x - x …: n scalar instructions in a row.
void scalar_chain(benchmark::State& state) {
  Machine m;
  Builder b(m.t, {});
  const ValueId x = b.param(m.f32);
  ValueId y = x;
  for (std::int64_t k = 0; k < state.range(0); ++k) y = b.emit(k % 2 ? Op::sub : Op::add, {y, x});
  const PlanRef p = m.plan(b, std::array{y});
  float in = 1, out = 0;
  for (auto _ : state) m.run(*p, &in, &out);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["ns_per_instr"] = benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)) * 1e-9,
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(scalar_chain)->Arg(1)->Arg(10)->Arg(1000)->Arg(100'000);

// for 1000 trips: c + 1, as `scan`, and as `while` with its condition.
void trips(benchmark::State& state) {
  Machine m;
  Builder body(m.t, {});
  const ValueId c = body.param(m.i64);
  const FunctionId step = *body.seal({body.emit(Op::add, {c, body.scalar_int(DType::I64, 1)})});
  Builder cond(m.t, {});
  const ValueId i = cond.param(m.i64);
  const FunctionId less = *cond.seal({cond.emit(Op::lt, {i, cond.scalar_int(DType::I64, 1000)})});
  Builder b(m.t, {});
  const ValueId x = b.param(m.i64);
  const ValueId y = state.range(0) ? b.emit(Op::while_, {x}, {{Key::cond, less}, {Key::body, step}})
                                   : b.emit(Op::scan, {x}, {{Key::body, step}, {Key::carry, 1}, {Key::length, 1000}});
  const PlanRef p = m.plan(b, std::array{y});
  std::int64_t in = 0, out = 0;
  for (auto _ : state) m.run(*p, &in, &out);
  state.counters["ns_per_trip"] = benchmark::Counter(static_cast<double>(state.iterations()) * 1000 * 1e-9,
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(trips)->ArgName("while")->Arg(0)->Arg(1);

// Making the plan of n scalar instructions.
void planning(benchmark::State& state) {
  Machine m;
  Builder b(m.t, {});
  const ValueId x = b.param(m.f32);
  ValueId y = x;
  for (std::int64_t k = 0; k < state.range(0); ++k) y = b.emit(k % 2 ? Op::sub : Op::add, {y, x});
  const FunctionId f = *b.seal({y});
  for (auto _ : state) benchmark::DoNotOptimize(PlanCache().get(m.t, f));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(planning)->Arg(10)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tfvm
