// tfasm run: calls a function of a program and prints its results.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"

namespace tfvm::tool {

namespace {

constexpr std::int64_t kLeast = 1, kMost = std::numeric_limits<std::int64_t>::max();

struct RunOptions {
  std::string file;
  std::string function = "@main";
  std::vector<std::string> args, out;
  bool full = false, functionalize = false, sealed = false;
  std::int64_t memory = kMost;
  std::int64_t steps = kMost;
};

// What the op `print` of a program shows.
void show(void*, std::string_view label, const Tensor& value) {
  fmt::print("{}{}{}\n", label, label.empty() ? "" : ": ", print(value));
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
  const Result<std::vector<Value>> results = vm.call(context, *ready, *args);
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
  Result<std::unique_ptr<VM>> vm = VM::create(options);
  if (!vm) return report(vm.error(), StringTable());
  const Status s = run(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* cmd = app.add_subcommand("run", "Call a function of a program and print its results, one a line");
  const auto o = std::make_shared<RunOptions>();
  cmd->add_option("FILE", o->file, "The program, .tfa or .tfbc; it may read files below its folder")->required();
  cmd->add_option("FUNCTION", o->function, "@name or a derived function, as grad(@loss); default @main");
  cmd->add_option("-a,--arg", o->args, "The next argument: a literal, an .npy, or an .npz for all its arrays")
      ->allow_extra_args(false);
  cmd->add_option("-o,--out", o->out, "Write the next result to an .npy, or all that are left to an .npz")
      ->allow_extra_args(false);
  cmd->add_flag("--full", o->full, "Print long tensors whole");
  cmd->add_flag("--functionalize", o->functionalize, "Run functions that write by their functional forms");
  cmd->add_flag("--sealed", o->sealed, "Make no code once the function is prepared: a call that would have to fails")
      ->envname("TFVM_SEALED");
  cmd->add_option("--memory", o->memory, "Limit of bytes that tensors may take")->check(CLI::Range(kLeast, kMost));
  cmd->add_option("--steps", o->steps, "Limit of trips of loops and calls")->check(CLI::Range(kLeast, kMost));
  cmd->footer(
      "A literal takes its dtype from the parameter, or has its own: --arg 'f64[2] [1, 2]'. Results that are written\n"
      "to files are not printed.\n\n"
      "Examples:\n"
      "  tfasm run examples/digits.tfa\n"
      "  tfasm run examples/per_sample.tfa @gradient --arg '[1, 2, 3]' --arg 0 --arg '[1, 0, 1]' --arg 1\n"
      "  tfasm run examples/pendulum.tfa 'jvp(@final_angle)' --arg 0.1 --arg 1\n"
      "  tfasm run examples/pendulum.tfa @rollout --arg 0.1 --out angle.npy --out path.npy");
  cmd->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace tfvm::tool
