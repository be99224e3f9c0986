// What is a `while` worth as one loop in machine code? Newton's method for a square root, alone and for 1024 lanes of
// which each ends when it is there, in the C API's way (watched) and not: `over_interpreter` and `over_steps` are the
// times of the block interpreter, and of code for condition and body alone, over that of the loop.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "vm/bisect/gate.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @root(%a: f64, %x0: f64) {
  %i, %x = while (%i = 0, %x = %x0) {
    %q = mul %x, %x
    %r = sub %q, %a
    %e = abs %r
    %t = mul %a, 1e-14
    %m = gt %e, %t
    %n = lt %i, 100
    %k = and %m, %n
    yield %k
  } do {
    %q = mul %x, %x
    %r = sub %q, %a
    %t = mul %x, 2
    %s = div %r, %t
    %y = sub %x, %s
    %j = add %i, 1
    yield %j, %y
  }
  ret %i, %x
}
func @roots = vmap(@root)
// Kepler's equation: the eccentric anomaly of each mean anomaly.
func @orbit(%m: f64, %e: f64) {
  %i, %x = while (%i = 0, %x = %m) {
    %s = sin %x
    %p = mul %e, %s
    %d = sub %x, %p
    %r = sub %d, %m
    %f = abs %r
    %g = gt %f, 1e-12
    %n = lt %i, 50
    %k = and %g, %n
    yield %k
  } do {
    %s = sin %x
    %p = mul %e, %s
    %d = sub %x, %p
    %r = sub %d, %m
    %c = cos %x
    %q = mul %e, %c
    %w = sub 1, %q
    %h = div %r, %w
    %y = sub %x, %h
    %j = add %i, 1
    yield %j, %y
  }
  ret %i, %x
}
func @orbits = vmap(@orbit)
)";

template <class T>
T must(Result<T> r) {
  if (r) return *std::move(r);
  std::fprintf(stderr, "%s\n", r.error().message.c_str());
  std::abort();
}

// The fastest of many calls, in seconds.
class Way {
 public:
  Way(const std::string& function, std::int64_t lanes, Tier tier, std::int64_t natives, bool is_watched) {
    gate_.max_natives = natives;
    VmOptions options;
    options.tier.tier = tier;
    options.plan.fuse.gate = options.plan.gate = &gate_;
    vm_ = must(VM::create(options));
    if (!vm_->load_text(kProgram, "while.tfa")) std::abort();
    const std::vector<std::int64_t> dims(lanes > 0, lanes);
    for (int k = 0; k < 2; ++k) in_.push_back(must(Tensor::make(nullptr, DType::F64, dims)));
    for (std::int64_t k = 0; k < std::max<std::int64_t>(lanes, 1); ++k) {
      const auto some = static_cast<double>((k + 1) * 7919 % 997) / 997;
      const bool is_orbit = function.starts_with("@orbit");
      in_[0].as<double>()[k] = is_orbit ? 6 * some : k % 128 == 5 ? 1e24 : 1 + 99 * some;  // a few need many trips
      in_[1].as<double>()[k] = is_orbit ? 0.9 * static_cast<double>(k % 128) / 128 + 0.05 : 1;
    }
    std::vector<TypeId> types;
    for (const Tensor& t : in_) types.push_back(vm_->type_of(t));
    f_ = must(vm_->entry(function, types));
    for (const ValueType& r : f_.plan->results) out_.push_back(must(Tensor::make(nullptr, r.dtype, r.dims)));
    if (is_watched) context_.limits.cancel = &cancel_;
  }

  void run(int calls) {
    for (int k = 0; k < calls; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      if (!context_.call(*f_.plan, in_, out_)) std::abort();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }

  double trips() const {
    std::int64_t most = 0;
    for (std::int64_t k = 0; k < out_[0].bytes() / 8; ++k) most = std::max(most, out_[0].as<std::int64_t>()[k]);
    return static_cast<double>(most);
  }
  std::int64_t natives() const { return gate_.natives(); }

  double best = 1e9;

 private:
  LimitGate gate_;
  std::unique_ptr<VM> vm_;
  Function f_;
  Context context_;
  std::vector<Tensor> in_, out_;
  std::atomic<bool> cancel_ = false;
};

void while_loop(benchmark::State& state, const std::string& function, std::int64_t lanes, bool is_watched) {
  Way native(function, lanes, Tier::Jit, LimitGate::kAll, is_watched);
  Way steps(function, lanes, Tier::Jit, native.natives() - 1, is_watched);  // the loop is the last
  Way interpreter(function, lanes, Tier::Interp, 0, is_watched);
  for (auto _ : state) {
    native.run(20);
    steps.run(20);
    interpreter.run(20);
  }
  state.counters["us"] = 1e6 * native.best;
  state.counters["ns_per_trip"] = 1e9 * native.best / native.trips();
  state.counters["over_steps"] = steps.best / native.best;
  state.counters["over_interpreter"] = interpreter.best / native.best;
}

BENCHMARK_CAPTURE(while_loop, root, "@root", 0, false);
BENCHMARK_CAPTURE(while_loop, root_watched, "@root", 0, true);
BENCHMARK_CAPTURE(while_loop, roots_16, "@roots", 16, false);
BENCHMARK_CAPTURE(while_loop, roots_1024, "@roots", 1024, false);
BENCHMARK_CAPTURE(while_loop, roots_1024_watched, "@roots", 1024, true);
BENCHMARK_CAPTURE(while_loop, orbit, "@orbit", 0, false);
BENCHMARK_CAPTURE(while_loop, orbits_1024, "@orbits", 1024, false);
BENCHMARK_CAPTURE(while_loop, orbits_1024_watched, "@orbits", 1024, true);

}  // namespace
}  // namespace tfvm
