// How fast is the block interpreter on one fused line, sin(x) exp(-x x) + x cos(x) over 10^6 elements? numexpr runs the
// same line in bench/numexpr_line.py.
#include <benchmark/benchmark.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::int64_t kElements = 1'000'000;

void line(benchmark::State& state, DType dtype) {
  auto vm = VM::create();
  const std::string source = "func @f(%x: " + std::string(name(dtype)) + R"([n]) {
    %s = sin %x
    %q = mul %x, %x
    %n = neg %q
    %e = exp %n
    %p = mul %s, %e
    %c = cos %x
    %r = mul %x, %c
    %y = add %p, %r
    ret %y
  })";
  if (!vm || !(*vm)->load_text(source, "line.tfa")) return state.SkipWithError("the program does not load");
  Tensor x = *Tensor::make((*vm)->budget(), dtype, {&kElements, 1});
  for (std::int64_t i = 0; i < kElements; ++i)
    store_element(dtype, static_cast<double>(i) * 1e-5 - 5, x.data() + i * size_of(dtype));
  const TypeId type = (*vm)->type_of(x);
  auto f = (*vm)->entry("f", {&type, 1});
  if (!f) return state.SkipWithError(f.error().message.c_str());
  Context context((*vm)->budget());
  Tensor y = *x.clone((*vm)->budget());
  for (auto _ : state)
    if (!context.call(*f->plan, {&x, 1}, {&y, 1})) return state.SkipWithError("the call failed");
  state.counters["ns_per_element"] = benchmark::Counter(static_cast<double>(state.iterations() * kElements) * 1e-9,
                                                        benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(line, f32, DType::F32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(line, f64, DType::F64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tfvm
