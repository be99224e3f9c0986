// tfasm run: calls a function of a program and prints its results.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/threads.h"
#include "tools/tfasm/values.h"
#include "vm/bisect/gate.h"
#include "vm/trace.h"

namespace tfvm::tool {

namespace {

constexpr std::int64_t kLeast = 1, kMost = std::numeric_limits<std::int64_t>::max();

struct RunOptions {
  std::string file;
  std::string function = "@main";
  std::vector<std::string> args, out;
  std::string trace;
  bool full = false, functionalize = false, sealed = false, nan_trap = false, live_only = false;
  std::int64_t memory = kMost;
  std::int64_t steps = kMost;
  std::size_t threads = 1;
  std::int64_t merges = kMost, natives = kMost;
};

// What the op `print` of a program shows.
void show(void*, std::string_view label, const Tensor& value) {
  fmt::print("{}{}{}\n", label, label.empty() ? "" : ": ", print(value));
}

// A trace that stops at a failure is of use, too.
Status write_trace(VM& vm, const RunTrace& trace, const std::string& path) {
  const std::string text = chrome_json(vm.tables(), trace);
  std::FILE* f = std::fopen(path.c_str(), "wb");
  const bool written = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
  if ((f && std::fclose(f) != 0) || !written) return Error(Code::Io, fmt::format("can't write '{}'", path));
  return ok();
}

Status run(VM& vm, const RunOptions& o) {
  if (Status s = load_file(vm, o.file); !s) return s;
  Result<std::vector<Value>> args = std::vector<Value>();
  if (!o.args.empty() || o.function.find_first_of("@(") == std::string::npos) {
    const Result<Callee*> f = find_function(vm, o.function);
    if (!f) return f.error();
    args = read_arguments(vm, **f, o.args);
    if (!args) return args.error();
  }
  std::vector<TypeId> types;
  for (const Value& v : *args) types.push_back(v.type);
  const Result<Function> ready = vm.entry(o.function, types);
  if (!ready) {
    const Result<Callee*> f = find_function(vm, o.function);  // says more of a text that is no function
    return f ? ready.error() : f.error();
  }
  if (o.sealed) vm.seal();
  Context context(vm.budget());
  context.sink.print = show;
  context.limits.steps = o.steps;
  Threads shared(o.threads);
  context.jobs = shared.jobs();
  RunTrace trace;
  if (!o.trace.empty()) context.limits.trace = &trace;
  const Result<std::vector<Value>> results = vm.call(context, *ready, *args);
  if (!o.trace.empty())
    if (Status s = write_trace(vm, trace, o.trace); !s) return s;
  if (!results) return results.error();
  const Result<std::size_t> written = write_results(vm, o.out, *results);
  if (!written) return written.error();
  PrintOptions print_options;
  print_options.full = o.full;
  for (std::size_t k = *written; k < results->size(); ++k)
    fmt::print("{}\n", print_value(vm, (*results)[k], print_options));
  return ok();
}

int run(const RunOptions& o) {
  VmOptions options;
  options.memory_limit = o.memory;
  options.functionalize = o.functionalize;
  LimitGate gate;
  gate.max_merges = o.merges;
  gate.max_natives = o.natives;
  if (o.merges < kMost || o.natives < kMost) options.plan.fuse.gate = options.plan.gate = &gate;
  if (o.nan_trap) options.nan_trap = o.live_only ? NanTrap::Live : NanTrap::All;
  Result<std::unique_ptr<VM>> vm = VM::create(options);
  if (!vm) return report(vm.error(), StringTable());
  const Status s = run(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_run(Application& app) {
  const Command cmd = app.command("run", "Call a function of a program and print its results, one a line");
  const auto o = std::make_shared<RunOptions>();
  cmd.option("FILE", o->file, "The program, .tfa or .tfbc; it may read files below its folder").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function, as grad(@loss); default @main");
  cmd.option("-a,--arg", o->args, "The next argument: a literal, an .npy, or an .npz for all its arrays");
  cmd.option("-o,--out", o->out, "Write the next result to an .npy, or all that are left to an .npz");
  cmd.flag("--full", o->full, "Print long tensors whole");
  cmd.flag("--functionalize", o->functionalize, "Run functions that write by their functional forms");
  cmd.flag("--sealed", o->sealed, "Make no code once the function is prepared: a call that would have to fails")
      .or_env("TFVM_SEALED");
  const Option trap =
      cmd.flag("--nan-trap", o->nan_trap, "Fail at the first nan, and name its op, line, element, step");
  cmd.flag("--live-only", o->live_only, "Of those that reach a result alone: what a select masks may be nan")
      .needs(trap);
  cmd.option("--trace", o->trace, "Write each step that the run made to FILE, as a Chrome trace");
  cmd.option("--memory", o->memory, "Limit of bytes that tensors may take").between(kLeast, kMost);
  add_threads(cmd, o->threads);
  constexpr std::int64_t kNone = 0;
  cmd.option("--merges", o->merges, "Make only the first N merges of loop nests").between(kNone, kMost);
  cmd.option("--natives", o->natives, "Machine code only for the first N nests and loops").between(kNone, kMost);
  cmd.option("--steps", o->steps, "Limit of trips of loops and calls").between(kLeast, kMost);
  cmd.footer(
      "A literal takes its dtype from the parameter, or has its own: --arg 'f64[2] [1, 2]'. Results that are written\n"
      "to files are not printed.\n\n"
      "Examples:\n"
      "  tfasm run examples/digits.tfa\n"
      "  tfasm run examples/per_sample.tfa @gradient --arg '[1, 2, 3]' --arg 0 --arg '[1, 0, 1]' --arg 1\n"
      "  tfasm run examples/pendulum.tfa 'jvp(@final_angle)' --arg 0.1 --arg 1\n"
      "  tfasm run examples/pendulum.tfa @rollout --arg 0.1 --out angle.npy --out path.npy\n"
      "  tfasm run examples/pendulum.tfa @rollout --arg 0.1 --trace rollout.json   (chrome://tracing shows it)");
  cmd.action([o] { return run(*o); });
}

}  // namespace tfvm::tool
