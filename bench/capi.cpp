// What does a call through the C API cost, when there is next to nothing to compute? (tiny_call and tiny_grad of the
// comparison with other systems), and what does watching for limits cost a loop and a large nest?
#include <cstdlib>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <tfvm.h>

namespace {

constexpr std::string_view kProgram = R"(
func @line(%a: f32[3], %x: f32[3], %b: f32[3]) -> f32[3] {
  %p = mul %a, %x
  %y = add %p, %b
  ret %y
}
func @rosenbrock(%p: f32[3]) -> f32 {
  %u = slice %p {start=[1], limit=[3]}
  %v = slice %p {start=[0], limit=[2]}
  %s = mul %v, %v
  %d = sub %u, %s
  %q = mul %d, %d
  %h = mul %q, 100
  %o = sub 1, %v
  %r = mul %o, %o
  %e = add %h, %r
  %l = reduce_sum %e
  ret %l
}
func @bump(mut %x: f32[3], %k: f32) -> f32[3] {
  add_ %x, %k
  ret %x
}
func @trips(%x: f32) -> f32 {
  %y = scan (%c = %x;) {length=1000} {
    %d = mul %c, 0.5
    yield %d;
  }
  ret %y
}
func @large(%x: f32[1000000]) -> f32[1000000] {
  %y = add %x, %x
  ret %y
}
)";

struct Host {
  tfvm_vm* vm = nullptr;
  tfvm_context* context = nullptr;
  tfvm_function* f = nullptr;
  explicit Host(const char* callee) {
    if (tfvm_vm_create(nullptr, &vm, nullptr) ||
        tfvm_load_text(vm, kProgram.data(), kProgram.size(), "a.tfa", nullptr, nullptr) ||
        tfvm_prepare(vm, callee, nullptr, &f, nullptr) || tfvm_context_create(vm, nullptr, &context, nullptr))
      std::abort();
  }
  ~Host() {
    tfvm_function_release(f);
    tfvm_context_release(context);
    tfvm_vm_release(vm);
  }
  void run(benchmark::State& state, const std::vector<const void*>& in, void* out) {
    void* outputs[] = {out};
    for (auto _ : state)
      if (tfvm_call(context, f, in.data(), in.size(), outputs, 1, nullptr)) std::abort();
  }
};

void tiny_call(benchmark::State& state) {
  Host h("@line");
  const float a[] = {1, 2, 3}, x[] = {0.5, -1, 2}, b[] = {3, 1, -1};
  float y[3];
  h.run(state, {a, x, b}, y);
}
BENCHMARK(tiny_call);

void tiny_grad(benchmark::State& state) {
  Host h("grad(@rosenbrock)");
  const float p[] = {1.2f, 0.7f, 0.9f};
  float g[3];
  h.run(state, {p}, g);
}
BENCHMARK(tiny_grad);

// By steps: a write in place, and a result that is the input.
void tiny_write(benchmark::State& state) {
  Host h("@bump");
  float x[] = {1, 2, 3}, y[3];
  const float k = 0.5;
  h.run(state, {x, &k}, y);
}
BENCHMARK(tiny_write);

// 1: with a limit of time, so that the clock is looked at.
void watched_trips(benchmark::State& state) {
  Host h("@trips");
  tfvm_set_limits(h.context, 0, state.range(0) ? 1'000'000'000 : 0);
  const float x = 1;
  float y;
  h.run(state, {&x}, &y);
}
BENCHMARK(watched_trips)->Arg(0)->Arg(1);

void watched_nest(benchmark::State& state) {
  Host h("@large");
  tfvm_set_limits(h.context, 0, state.range(0) ? 1'000'000'000 : 0);
  const std::vector<float> x(1'000'000, 1);
  std::vector<float> y(x);
  h.run(state, {x.data()}, y.data());
}
BENCHMARK(watched_nest)->Arg(0)->Arg(1);

}  // namespace
