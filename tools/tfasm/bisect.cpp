// tfasm bisect: which stage between a program and its run changes a result, and a small program that shows it.

#include "vm/bisect/bisect.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bytecode/text/print_body.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function = "@main";
  std::vector<std::string> args;
  bool json = false;
};

std::string place(VM& vm, const Loc& loc) {
  return loc.line == 0 ? "" : fmt::format(" at {}:{}", vm.tables().strings[loc.file], loc.line);
}

// What the pass does with a parameter that has a flag.
std::string_view meaning(std::string_view pass) {
  return pass == "vmap" ? " batched" : pass == "jvp" ? " with a tangent" : pass == "split" ? " unknown" : " linear";
}

void print_reduced(VM& vm, const Bisection& b) {
  const ReducedProgram& p = b.reduced;
  fmt::print("// reduced to {} instructions\n{}", b.instructions, print_function(vm.tables(), p.f));
  for (std::size_t k = 0; k < p.inputs.size(); ++k)
    fmt::print("// input {}{}: {}\n", k, k < p.flags.size() && p.flags[k] ? meaning(b.pass) : "", print(p.inputs[k]));
}

int show(VM& vm, const Bisection& b) {
  if (!b.differs) {
    fmt::print("no stage changes a result\n");
    return kDone;
  }
  fmt::print("stage: {}\n", name(b.stage));
  if (b.failure) return report(*b.failure, vm.tables().strings);
  const std::string line = place(vm, b.loc);
  if (b.stage == Stage::Transforms)
    fmt::print("{} of {}: rule of {}{}\nresult {}, element {}: {}, without the rule {}\n", b.pass, b.function, b.op,
               line, b.result, b.element, b.got, b.want);
  else
    fmt::print("result {}, element {}: {}, by single steps {}\n", b.result, b.element, b.got, b.want);
  if (b.stage == Stage::Fuse)
    fmt::print("merge {} of {}{}: --merges {} is right\n{}", b.number, b.count, line, b.number, b.nest);
  if (b.stage == Stage::Native)
    fmt::print("nest {} of {}{}: --natives {} is right\n", b.number, b.count, line, b.number);
  if (b.instructions > 0) print_reduced(vm, b);
  return kFailed;
}

int show_json(VM& vm, const Bisection& b) {
  nlohmann::json j = {{"differs", b.differs}};
  if (b.differs) j["stage"] = name(b.stage);
  if (b.failure) j["failure"] = b.failure->message;
  if (b.differs && !b.failure) {
    j.update({{"result", b.result}, {"element", b.element}, {"want", b.want}, {"got", b.got}});
    if (b.stage == Stage::Transforms) j.update({{"pass", b.pass}, {"function", b.function}, {"op", b.op}});
    if (b.number >= 0) j.update({{"number", b.number}, {"count", b.count}});
    if (b.loc.line > 0) j.update({{"file", vm.tables().strings[b.loc.file]}, {"line", b.loc.line}});
    if (b.instructions > 0)
      j["reduced"] = {{"instructions", b.instructions}, {"text", print_function(vm.tables(), b.reduced.f)}};
  }
  fmt::print("{}\n", j.dump(2));
  return b.differs ? kFailed : kDone;
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
  const auto shown = o.json ? show_json : show;
  const int code = found ? shown(**vm, *found) : report(found.error(), (*vm)->tables().strings);
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
  cmd.flag("--json", o->json, "Print JSON");
  cmd.footer(
      "What jvp, vmap and the other passes of transforms made is held against the functions that it was made of: "
      "lanes\n"
      "run one by one, differences of values, products with cotangents. A wrong rule is named with its op and line.\n"
      "Then what each instruction gives alone in the interpreter, without simplification, is held against the stages\n"
      "one after another: functionalize, simplify, licm, plan, recompute, fuse (nests are merged), native (machine\n"
      "code). Of fuse and native the first merge or nest that changes something is named; `tfasm run --merges N\n"
      "--natives N` makes only the first N. Exit code 0: no stage changes a result; 1: one does.\n\n"
      "Examples:\n"
      "  tfasm bisect examples/pendulum.tfa @rollout --arg 0.1\n"
      "  tfasm bisect examples/maml.tfa --json\n"
      "  tfasm bisect examples/per_sample.tfa 'grad(@loss)' --arg '[1, 2, 3]' --arg 0 --arg '[1, 0, 1]' --arg 1");
  cmd.action([o] { return bisect(*o); });
}

}  // namespace tfvm::tool
