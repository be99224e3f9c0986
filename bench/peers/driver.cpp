// One workload in this VM, measured as harness.py of the peers measures the others: what bench/peers/run.py runs.
//
//   peer_tfvm measure FILE CALLEE HOW SECONDS OUT IN.npy…
//       samples of calls into the caller's outputs; HOW: `call` (tfvm_call) or `prepared` (tfvm_call_bound)
//   peer_tfvm first FILE CALLEE OUT BYTES IN.npy…
//       text to first result, in a first and in a second VM; BYTES of memory that the caller has had in use stand ready
//       for the outputs (0: they are fresh from the system, which clears each page at its first use)
//   peer_tfvm start FILE CALLEE IN.npy…
//       one call, then "ok": for the time of the whole process
//
// Prints one JSON object with times in seconds; results go to OUT/0.npy, OUT/1.npy, …
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <tfvm.h>

#include "vm/npy/npy.h"

namespace tfvm {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

[[noreturn]] void die(const Error& e) {
  fmt::print(stderr, "error: {}\n", e.message);
  for (const std::string& n : e.notes) fmt::print(stderr, "note: {}\n", n);
  std::exit(1);
}

template <class T>
T must(Result<T> r) {
  if (!r) die(r.error());
  return *std::move(r);
}

void must(const Status& s) {
  if (!s) die(s.error());
}

struct Workload {
  std::string source, file, callee;
  std::vector<Tensor> inputs;
};

Workload read(char** argv, int first_input, int argc) {
  Workload w{{}, argv[2], argv[3], {}};
  const std::vector<std::byte> bytes = must(read_file(w.file));
  w.source.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (int k = first_input; k < argc; ++k) w.inputs.push_back(must(read_npy(argv[k])));
  return w;
}

// The caller's memory for outputs: `ready` bytes whose pages were touched before; what doesn't fit is fresh memory.
class Outputs {
 public:
  explicit Outputs(std::size_t ready) {
    const std::int64_t dims[] = {static_cast<std::int64_t>(ready)};
    ready_ = tfvm::must(Tensor::make({}, DType::I8, dims));
    if (ready) std::memset(ready_.data(), 1, ready);
  }
  Tensor take(DType dtype, std::span<const std::int64_t> dims) {
    const Layout layout = row_major(dims);
    std::byte* at = ready_.data() + used_;
    used_ += align_up(layout.elements() * size_of(dtype));
    return used_ > ready_.bytes() ? tfvm::must(Tensor::make({}, dtype, dims)) : Tensor::over(at, dtype, layout);
  }

 private:
  Tensor ready_;
  std::int64_t used_ = 0;
};

// A host of the C API, with the program's function for these inputs and memory for its outputs.
class Host {
 public:
  explicit Host(std::size_t ready = 0) : memory_(ready) { must(tfvm_vm_create(nullptr, &vm_, &e_)); }
  Host(const Host&) = delete;
  ~Host() {
    tfvm_bound_release(bound_);
    tfvm_context_release(context_);
    tfvm_function_release(f_);
    tfvm_vm_release(vm_);
  }

  void load(const Workload& w) {
    must(tfvm_load_text(vm_, w.source.data(), w.source.size(), w.file.c_str(), nullptr, &e_));
    std::vector<tfvm_view> views;
    for (const Tensor& t : w.inputs) {
      tfvm_view v = TFVM_VIEW;
      v.data = t.data();
      v.rank = static_cast<std::int32_t>(t.dims().size());
      v.dims = t.dims().data();
      v.dtype = static_cast<tfvm_dtype>(t.dtype());
      views.push_back(v);
      in_.push_back(t.data());
    }
    const std::string callee = "contract(" + w.callee + ")";  // products that are added are fused, as peers do
    must(tfvm_prepare_for(vm_, callee.c_str(), views.data(), views.size(), &f_, &e_));
    for (std::size_t k = 0; k < tfvm_output_count(f_); ++k) {
      tfvm_view v = TFVM_VIEW;
      must(tfvm_output_type(f_, k, &v));
      const std::span dims(v.dims, static_cast<std::size_t>(v.rank));
      outputs_.push_back(memory_.take(static_cast<DType>(v.dtype), dims));
      out_.push_back(outputs_.back().data());
    }
    must(tfvm_context_create(vm_, nullptr, &context_, &e_));
  }
  void call() { must(tfvm_call(context_, f_, in_.data(), in_.size(), out_.data(), out_.size(), &e_)); }
  void bind() { must(tfvm_bind(context_, f_, in_.data(), in_.size(), out_.data(), out_.size(), &bound_, &e_)); }
  void call_bound() { must(tfvm_call_bound(bound_, &e_)); }
  void write_results(const std::string& folder) const {
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      tfvm::must(write_npy(folder + "/" + std::to_string(k) + ".npy", outputs_[k]));
  }

 private:
  void must(tfvm_status s) const {
    if (s != TFVM_OK) die(Error(Code::Internal, e_.message));
  }
  Outputs memory_;
  tfvm_error e_ = TFVM_ERROR;
  tfvm_vm* vm_ = nullptr;
  tfvm_function* f_ = nullptr;
  tfvm_context* context_ = nullptr;
  tfvm_bound* bound_ = nullptr;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::vector<Tensor> outputs_;
};

// Seconds per call of each sample; a sample is as many calls as take about 2 ms.
template <class Run>
std::vector<double> sample(Run run, double seconds, std::int64_t& calls) {
  const Clock::time_point begin = Clock::now();
  std::int64_t n = 0;
  while (n < 2 || (since(begin) < 0.4 && n < 100000)) run(), ++n;
  const double once = since(begin) / static_cast<double>(n);
  calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(2e-3 / std::max(once, 1e-9)));
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  while ((since(start) < seconds || samples.size() < 5) && samples.size() < 1500) {
    if (since(start) > 10 * seconds && samples.size() >= 3) break;
    const Clock::time_point t = Clock::now();
    for (std::int64_t k = 0; k < calls; ++k) run();
    samples.push_back(since(t) / static_cast<double>(calls));
  }
  std::ranges::sort(samples);
  return samples;
}

int measure(int argc, char** argv) {
  const Workload w = read(argv, 7, argc);
  Host host;
  const Clock::time_point begin = Clock::now();
  host.load(w);
  host.call();
  const double first = since(begin);
  host.write_results(argv[6]);
  host.bind();
  const double seconds = std::atof(argv[5]);
  std::int64_t calls = 0;
  const std::vector<double> s = std::string_view(argv[4]) == "prepared"
                                    ? sample([&] { host.call_bound(); }, seconds, calls)
                                    : sample([&] { host.call(); }, seconds, calls);
  fmt::print("{{\"first_s\": {}, \"median_s\": {}, \"min_s\": {}, \"p10_s\": {}, \"samples\": {}, \"inner\": {}}}\n",
             first, s[s.size() / 2], s[0], s[s.size() / 10], s.size(), calls);
  return 0;
}

int first(int argc, char** argv) {
  const Workload w = read(argv, 6, argc);
  double seconds[2];
  for (double& t : seconds) {
    Host host(static_cast<std::size_t>(std::atoll(argv[5])));
    const Clock::time_point begin = Clock::now();
    host.load(w);
    host.call();
    t = since(begin);
    host.write_results(argv[4]);
  }
  fmt::print("{{\"first_s\": {}, \"recompile_s\": {}}}\n", seconds[0], seconds[1]);
  return 0;
}

int start(int argc, char** argv) {
  const Workload w = read(argv, 4, argc);
  Host host;
  host.load(w);
  host.call();
  std::puts("ok");
  return 0;
}

}  // namespace
}  // namespace tfvm

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "measure" && argc > 6) return tfvm::measure(argc, argv);
  if (what == "first" && argc > 5) return tfvm::first(argc, argv);
  if (what == "start" && argc > 3) return tfvm::start(argc, argv);
  std::fputs("usage: peer_tfvm measure|first|start FILE CALLEE …; see bench/peers/driver.cpp\n", stderr);
  return 2;
}
