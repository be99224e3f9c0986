// What does the NaN trap cost where there is no nan? Programs of the comparison with other systems, with and without
// it, in turns: the ratio of the least times.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <tfvm.h>

namespace {

using Clock = std::chrono::steady_clock;

void check(tfvm_status s, const tfvm_error& e) {
  if (s == TFVM_OK) return;
  std::fprintf(stderr, "%s\n", e.message);
  std::abort();
}

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(TFVM_BENCH_PROGRAMS "/") + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Of floats: how many of each input, and of each output.
struct Workload {
  const char* file;
  const char* callee;
  const char* types;
  std::vector<std::size_t> in, out;
  float scale = 0.001f;  // of inputs
};

class Host {
 public:
  Host(const Workload& w, std::uint64_t flags) : in_(w.in.size()), out_(w.out.size()) {
    tfvm_vm_options o = TFVM_VM_OPTIONS;
    o.flags = flags;
    check(tfvm_vm_create(&o, &vm_, &e_), e_);
    const std::string text = text_of(w.file);
    check(tfvm_load_text(vm_, text.data(), text.size(), w.file, nullptr, &e_), e_);
    check(tfvm_prepare(vm_, w.callee, w.types, &f_, &e_), e_);
    check(tfvm_context_create(vm_, nullptr, &context_, &e_), e_);
    for (std::size_t k = 0; k < in_.size(); ++k) {
      in_[k].resize(w.in[k]);
      for (std::size_t i = 0; i < in_[k].size(); ++i) in_[k][i] = w.scale * static_cast<float>(1 + (i * 37 + k) % 997);
      from_.push_back(in_[k].data());
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      out_[k].resize(w.out[k]);
      to_.push_back(out_[k].data());
    }
  }
  Host(const Host&) = delete;
  ~Host() {
    tfvm_function_release(f_);
    tfvm_context_release(context_);
    tfvm_vm_release(vm_);
  }
  double seconds() {
    const Clock::time_point start = Clock::now();
    check(tfvm_call(context_, f_, from_.data(), from_.size(), to_.data(), to_.size(), &e_), e_);
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

 private:
  tfvm_error e_ = TFVM_ERROR;
  tfvm_vm* vm_ = nullptr;
  tfvm_context* context_ = nullptr;
  tfvm_function* f_ = nullptr;
  std::vector<std::vector<float>> in_, out_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
};

void trap(benchmark::State& state, const Workload& w, std::uint64_t flag) {
  Host plain(w, 0), trapped(w, flag);
  double best = 1e9, best_trapped = 1e9;
  for (auto _ : state) {
    best = std::min(best, plain.seconds());
    best_trapped = std::min(best_trapped, trapped.seconds());
  }
  state.counters["ratio"] = best_trapped / best;
}

constexpr std::size_t kMega = 1'000'000, kHidden = 512 * 512;
const Workload kElementwise{"elementwise.tfa", "@elementwise", "f32[1000000]", {kMega}, {kMega}};
const Workload kRollout{
    "pendulum.tfa", "@rollout_batch", "f32[1024], f32[1024], f32[1024]", {1024, 1024, 1024}, {1024, 1024}};
const Workload kRolloutGrad{
    "pendulum.tfa", "@rollout_grad_batch", "f32[1024], f32[1024], f32[1024]", {1024, 1024, 1024}, {1024, 1024, 1024}};
const Workload kForces{"lj.tfa", "@lj_forces", "f32[256,3]", {768}, {1, 768}, 0.1f};
const Workload kMlp{"mlp.tfa",
                    "@mlp_train_step",
                    "f32[512,512], f32[512], f32[512,512], f32[512], f32[512,10], f32[10], f32[128,512], f32[128,10]",
                    {kHidden, 512, kHidden, 512, 5120, 10, 128 * 512, 1280},
                    {kHidden, 512, kHidden, 512, 5120, 10, 1}};

#define TFVM_TRAP(name, workload)                                        \
  BENCHMARK_CAPTURE(trap, name, workload, std::uint64_t{TFVM_NAN_TRAP}); \
  BENCHMARK_CAPTURE(trap, name##_live, workload, std::uint64_t{TFVM_NAN_TRAP_LIVE})
TFVM_TRAP(elementwise, kElementwise);
TFVM_TRAP(rollout, kRollout);
TFVM_TRAP(rollout_grad, kRolloutGrad);
TFVM_TRAP(lj_forces, kForces);
TFVM_TRAP(mlp_train_step, kMlp);

}  // namespace
