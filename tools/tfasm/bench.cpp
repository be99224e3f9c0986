// tfasm bench: how long a function takes, from text to its steady state.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/threads.h"
#include "tools/tfasm/values.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function = "@main", tier;
  std::vector<std::string> args;
  double seconds = 1;
  std::size_t threads = 1;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Seconds.
struct Times {
  double load = 0, prepare = 0, compile = 0, first = 0, least = 0, median = 0;
  std::size_t calls = 0;
};

// Calls until `seconds` have passed, ten times at least.
Status steady(VM& vm, const Function& f, std::span<const Value> args, double seconds, std::size_t threads, Times& t) {
  Context context(vm.budget());
  Threads shared(threads);
  context.jobs = shared.jobs();
  const auto call = [&](double& took) -> Status {
    const auto begin = Clock::now();
    const auto out = vm.call(context, f, args);
    took = since(begin);
    return out ? ok() : Status(out.error());
  };
  if (Status s = call(t.first); !s) return s;
  std::vector<double> all;
  for (const auto begin = Clock::now(); all.size() < 10 || since(begin) < seconds;) {
    all.push_back(0);
    if (Status s = call(all.back()); !s) return s;
    if (all.size() % 16 == 0) {
      const auto waited = Clock::now();
      vm.tiers().wait();
      t.compile += since(waited);
    }
  }
  const auto later = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 4);  // warm, compiled
  std::sort(later, all.end());
  t.least = *later;
  t.median = later[(all.end() - later) / 2];
  t.calls = all.size();
  return ok();
}

Result<Times> measure(VM& vm, const Options& o, double create) {
  Times t;
  const auto begin = Clock::now();
  if (Status s = load_file(vm, o.file); !s) return std::move(s).error();
  t.load = create + since(begin);
  const Result<Callee*> f = find_function(vm, o.function);
  if (!f) return f.error();
  const Result<std::vector<Value>> args = read_arguments(vm, **f, o.args);
  if (!args) return args.error();
  std::vector<TypeId> types;
  for (const Value& v : *args) types.push_back(v.type);
  const auto before = Clock::now();
  const Result<Function> ready = prepare(vm, **f, types);
  if (!ready) return ready.error();
  t.prepare = since(before);
  if (Status s = steady(vm, *ready, *args, o.seconds, o.threads, t); !s) return std::move(s).error();
  return t;
}

void print(VM& vm, const Options& o, const Times& t) {
  const NestCompiler::Counts made = vm.tiers().compiler().counts();
  if (o.json) {
    fmt::print("{}\n", nlohmann::json({{"function", o.function},
                                       {"load_s", t.load},
                                       {"prepare_s", t.prepare},
                                       {"first_call_s", t.first},
                                       {"waited_for_code_s", t.compile},
                                       {"min_s", t.least},
                                       {"median_s", t.median},
                                       {"calls", t.calls},
                                       {"native_shapes", made.shapes},
                                       {"native_bytes", made.bytes}})
                           .dump());
    return;
  }
  const auto row = [](const char* what, double s) { fmt::print("{:<22} {:>12.3f} us\n", what, s * 1e6); };
  row("start and load", t.load);
  row("prepare", t.prepare);
  row("first call", t.first);
  row("steady, least", t.least);
  row("steady, median", t.median);
  fmt::print("{} calls; machine code: {} shapes, {} bytes\n", t.calls, made.shapes, made.bytes);
}

int bench(const Options& o) {
  VmOptions options;
  if (!o.tier.empty()) options.tier.tier = *parse_tier(o.tier);
  const auto begin = Clock::now();
  Result<std::unique_ptr<VM>> vm = VM::create(options);
  if (!vm) return report(vm.error(), StringTable());
  const Result<Times> t = measure(**vm, o, since(begin));
  if (t) print(**vm, o, *t);
  std::fflush(stdout);
  return t ? kDone : report(t.error(), (*vm)->tables().strings);
}

}  // namespace

void add_bench(Application& app) {
  const Command cmd = app.command("bench", "Time a function: load, prepare, first call, steady state");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program, .tfa or .tfbc").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function, as grad(@loss); default @main");
  cmd.option("-a,--arg", o->args, "The next argument: a literal, an .npy, or an .npz for all its arrays");
  cmd.option("--tier", o->tier, "interp, jit (code before the first call), auto; default: TFVM_TIER, else jit")
      .one_of({"interp", "jit", "auto"});
  cmd.option("--seconds", o->seconds, "How long to call it").between(0.0, 3600.0);
  add_threads(cmd, o->threads);
  cmd.flag("--json", o->json, "One line of JSON, in seconds");
  cmd.footer(
      "Results are made anew by each call, as by `tfasm run`. TFVM_PERF=jitdump shows its machine code to perf, which\n"
      "must record with -k mono; TFVM_PERF=gdb shows it to GDB.\n\n"
      "Examples:\n"
      "  tfasm bench examples/pendulum.tfa 'jvp(@final_angle)' --arg 0.1 --arg 1\n"
      "  tfasm bench examples/pendulum.tfa @rollout --arg 0.1 --tier interp --json\n"
      "  TFVM_PERF=jitdump perf record -k mono tfasm bench examples/pendulum.tfa @rollout --arg 0.1");
  cmd.action([o] { return bench(*o); });
}

}  // namespace tfvm::tool
