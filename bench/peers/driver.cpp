// One workload in this VM, measured as harness.py of the peers measures the others: what bench/peers/run.py runs.
//
//   peer_tfvm measure FILE CALLEE HOW SECONDS OUT IN.npy…
//       samples of calls into the caller's outputs; HOW: `call` (checked) or `prepared` (bare pointers)
//   peer_tfvm first FILE CALLEE OUT IN.npy…
//       text to first result, in a first and in a second VM
//   peer_tfvm start FILE CALLEE IN.npy…
//       one call, then "ok": for the time of the whole process
//
// Prints one JSON object with times in seconds; results go to OUT/0.npy, OUT/1.npy, …
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "vm/npy/npy.h"
#include "vm/vm.h"

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

// A VM with the program, and its function for these inputs.
struct Loaded {
  std::unique_ptr<VM> vm;
  Function f;
  std::vector<Tensor> outputs;
};

void load(Loaded& l, const Workload& w) {
  must(l.vm->load_text(w.source, w.file));
  std::vector<TypeId> types;
  for (const Tensor& t : w.inputs) types.push_back(l.vm->type_of(t));
  l.f = must(l.vm->entry("contract(" + w.callee + ")", types));  // products that are added are fused, as peers do
  l.outputs.clear();
  for (const ValueType& type : l.f.plan->results) l.outputs.push_back(must(Tensor::make({}, type.dtype, type.dims)));
}

Loaded fresh() { return {must(VM::create()), {}, {}}; }

void write_results(const Loaded& l, const std::string& folder) {
  for (std::size_t k = 0; k < l.outputs.size(); ++k)
    must(write_npy(folder + "/" + std::to_string(k) + ".npy", l.outputs[k]));
}

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
  Loaded l = fresh();
  const Clock::time_point begin = Clock::now();
  load(l, w);
  Context context(l.vm->budget());
  must(context.call(*l.f.plan, w.inputs, l.outputs));
  const double first = since(begin);
  write_results(l, argv[6]);
  std::vector<std::byte*> in, out;
  for (const Tensor& t : w.inputs) in.push_back(t.data());
  for (const Tensor& t : l.outputs) out.push_back(t.data());
  const double seconds = std::atof(argv[5]);
  std::int64_t calls = 0;
  const std::vector<double> s =
      std::string_view(argv[4]) == "prepared"
          ? sample([&] { must(context.run(*l.f.plan, in, out)); }, seconds, calls)
          : sample([&] { must(context.call(*l.f.plan, w.inputs, l.outputs)); }, seconds, calls);
  fmt::print("{{\"first_s\": {}, \"median_s\": {}, \"min_s\": {}, \"p10_s\": {}, \"samples\": {}, \"inner\": {}}}\n",
             first, s[s.size() / 2], s[0], s[s.size() / 10], s.size(), calls);
  return 0;
}

int first(int argc, char** argv) {
  const Workload w = read(argv, 5, argc);
  double seconds[2];
  for (double& t : seconds) {
    Loaded l = fresh();
    const Clock::time_point begin = Clock::now();
    load(l, w);
    Context context(l.vm->budget());
    must(context.call(*l.f.plan, w.inputs, l.outputs));
    t = since(begin);
    write_results(l, argv[4]);
  }
  fmt::print("{{\"first_s\": {}, \"recompile_s\": {}}}\n", seconds[0], seconds[1]);
  return 0;
}

int start(int argc, char** argv) {
  const Workload w = read(argv, 4, argc);
  Loaded l = fresh();
  load(l, w);
  Context context(l.vm->budget());
  must(context.call(*l.f.plan, w.inputs, l.outputs));
  std::puts("ok");
  return 0;
}

}  // namespace
}  // namespace tfvm

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "measure" && argc > 6) return tfvm::measure(argc, argv);
  if (what == "first" && argc > 4) return tfvm::first(argc, argv);
  if (what == "start" && argc > 3) return tfvm::start(argc, argv);
  std::fputs("usage: peer_tfvm measure|first|start FILE CALLEE …; see bench/peers/driver.cpp\n", stderr);
  return 2;
}
