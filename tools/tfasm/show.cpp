// tfasm show: what a function becomes: bytecode, steps, loop nests, machine code.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "bytecode/text/print_body.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"
#include "vm/plan/code_text.h"
#include "vm/plan/walk.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function = "@main", args, isa;
  bool bytecode = false, plan = false, nests = false, assembly = false;
  bool all() const { return !bytecode && !plan && !nests && !assembly; }
};

void show_step(const Tables& t, const Plan& p, std::uint32_t step, NestCompiler& compiler, const Options& o) {
  const StepText s = code_text(t, p, step, compiler, [](const CodeLine& at) { return line_text(at.file, at.line); });
  fmt::print("{}", s.title);
  if (o.nests || o.all()) fmt::print("{}", s.ir);
  if (o.assembly || o.all() || s.ir.empty()) fmt::print("{}", s.code);
}

void show_plan(Tables& t, const Plan& p, NestCompiler& compiler, const Options& o) {
  fmt::print("// ---- {}\n", t.debugs.function_name(p.function.debug, t.strings));
  if (o.bytecode || o.all()) fmt::print("{}\n", print_function(t, p.function));
  if (o.plan || o.all()) fmt::print("{}\n", text(p));
  if (!o.nests && !o.assembly && !o.all()) return;
  for (std::uint32_t i = 0; i < p.steps.size(); ++i) show_step(t, p, i, compiler, o);
}

Status show(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return s;
  const Result<Function> f = entry_for(vm, o.function, o.args);
  if (!f) return f.error();
  if (!f->plan) return Error(Code::Unsupported, "a function that writes runs as written: show its functionalized form");
  NestCompiler compiler(o.isa == "avx2" ? Isa::Avx2 : NestCompiler::best_isa());
  for_each_plan(*f->plan, [&](const Plan& p) { show_plan(vm.tables(), p, compiler, o); });
  return ok();
}

int show(const Options& o) {
  VmOptions options;
  options.plan.keep_nests = true;
  Result<std::unique_ptr<VM>> vm = VM::create(options);
  if (!vm) return report(vm.error(), StringTable());
  const Status s = show(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_show(Application& app) {
  const Command cmd = app.command("show", "Show what a function becomes: bytecode, steps, loop nests, machine code");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program, .tfa or .tfbc").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function, as grad(@loss); default @main");
  cmd.option("--args", o->args, "Types of the arguments, where the function does not fix them");
  cmd.flag("--bytecode", o->bytecode, "The bytecode that is planned");
  cmd.flag("--plan", o->plan, "The steps of the plan and their places");
  cmd.flag("--nests", o->nests, "The loop nests and whole loops, each with its line in the program");
  cmd.flag("--asm", o->assembly,
           "The machine code of each nest and loop under the lines that it is of, or why there is none");
  cmd.option("--isa", o->isa, "Machine code for this instruction set; default: the best of the machine")
      .one_of({"avx2", "avx512"});
  cmd.footer(
      "Without one of the flags everything is shown.\n\n"
      "Examples:\n"
      "  tfasm show examples/pendulum.tfa @final_angle --nests\n"
      "  tfasm show examples/per_sample.tfa 'grad(@loss)' --args 'f32[3], f32, f32[3], f32' --asm --isa avx2");
  cmd.action([o] { return show(*o); });
}

}  // namespace tfvm::tool
