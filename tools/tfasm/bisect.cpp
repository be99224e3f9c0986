// tfasm bisect: which stage between a program and its run changes a result, and a small program that shows it.

#include "vm/bisect/bisect.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "bytecode/text/print_body.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function = "@main";
  std::vector<std::string> args;
};

void print_inputs(const ReducedProgram& p) {
  for (std::size_t k = 0; k < p.inputs.size(); ++k) fmt::print("// input {}: {}\n", k, print(p.inputs[k]));
}

int show(VM& vm, const Bisection& b) {
  if (!b.differs) {
    fmt::print("no stage changes a result\n");
    return kDone;
  }
  fmt::print("stage: {}\n", name(b.stage));
  if (b.failure) return report(*b.failure, vm.tables().strings);
  fmt::print("result {}, element {}: {}, by single steps {}\n", b.result, b.element, b.got, b.want);
  const std::string line = b.loc.line == 0 ? "" : fmt::format(" at {}:{}", vm.tables().strings[b.loc.file], b.loc.line);
  if (b.stage == Stage::Fuse)
    fmt::print("merge {} of {}{}: --merges {} is right\n{}", b.number, b.count, line, b.number, b.nest);
  if (b.stage == Stage::Native)
    fmt::print("nest {} of {}{}: --natives {} is right\n", b.number, b.count, line, b.number);
  if (b.instructions == 0) return kFailed;
  fmt::print("// reduced to {} instructions\n{}", b.instructions, print_function(vm.tables(), b.reduced.f));
  print_inputs(b.reduced);
  return kFailed;
}

Result<Bisection> bisect(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return std::move(s).error();
  const Result<Callee*> f = find_function(vm, o.function);
  if (!f) return f.error();
  const Result<std::vector<Value>> args = read_arguments(vm, **f, o.args);
  if (!args) return args.error();
  std::vector<TypeId> types;
  std::vector<Tensor> inputs;
  for (const Value& v : *args) {
    types.push_back(v.type);
    inputs.insert(inputs.end(), v.leaves.begin(), v.leaves.end());
  }
  const Result<Function> ready = prepare(vm, **f, types);
  if (!ready) return ready.error();
  const std::lock_guard guard(vm.lock());
  return bisect(vm.transforms(), ready->id, vm.arguments(*ready, inputs));
}

int bisect(const Options& o) {
  VmOptions options;
  options.simplify = false;
  options.nan_trap = NanTrap::Off;
  options.tier.tier = Tier::Interp;
  Result<std::unique_ptr<VM>> vm = VM::create(options);
  if (!vm) return report(vm.error(), StringTable());
  const Result<Bisection> found = bisect(**vm, o);
  const int code = found ? show(**vm, *found) : report(found.error(), (*vm)->tables().strings);
  std::fflush(stdout);
  return code;
}

}  // namespace

void add_bisect(Application& app) {
  const Command cmd = app.command("bisect", "Find the stage that changes a result, and a small program that shows it");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function; default @main");
  cmd.option("-a,--arg", o->args, "The next argument, as of run");
  cmd.footer(
      "What each instruction gives alone in the interpreter, without simplification, is held against the stages one\n"
      "after another: functionalize, simplify, licm, plan, recompute, fuse (nests are merged), native (machine code).\n"
      "Of fuse and native the first merge or nest that changes something is named; `tfasm run --merges N --natives N`\n"
      "makes only the first N. Exit code 0: no stage changes a result; 1: one does.\n\n"
      "Examples:\n"
      "  tfasm bisect examples/pendulum.tfa @rollout --arg 0.1\n"
      "  tfasm bisect examples/per_sample.tfa 'grad(@loss)' --arg '[1, 2, 3]' --arg 0 --arg '[1, 0, 1]' --arg 1");
  cmd.action([o] { return bisect(*o); });
}

}  // namespace tfvm::tool
