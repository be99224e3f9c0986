// tfasm memory: the bytes that a call will take, to the byte.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"
#include "vm/memory_use.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function = "@main", args;
};

Status memory(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return s;
  const Result<Function> f = entry_for(vm, o.function, o.args);
  if (!f) return f.error();
  const CallBytes b = call_bytes(*f);
  fmt::print("{:>14} working memory, once for a context\n", b.working);
  fmt::print("{:>14} outputs\n", b.outputs);
  if (b.kept > 0) fmt::print("{:>14} inputs that a pack keeps, where they are not the VM's own\n", b.kept);
  fmt::print("{:>14} peak of a call{}\n", b.working + b.outputs + b.kept,
             b.grows ? ", and what its loops or writes make as they run" : "");
  fmt::print("{:>14} constants of the plan\n", b.constants);
  fmt::print("{:>14} params and buffers, all of the program's\n", vm.budget()->used());
  return ok();
}

int memory(const Options& o) {
  Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return report(vm.error(), StringTable());
  const Status s = memory(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_memory(Application& app) {
  const Command cmd = app.command("memory", "Say how many bytes a call will take");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function; default @main");
  cmd.option("--args", o->args, "Types of the arguments, where the function does not fix them");
  cmd.footer(
      "The figures are exact: they are what the VM counts and a memory limit is held against. Code is not counted.\n\n"
      "Examples:\n"
      "  tfasm memory examples/pendulum.tfa @rollout\n"
      "  tfasm memory examples/pendulum.tfa 'grad(@final_angle)'");
  cmd.action([o] { return memory(*o); });
}

}  // namespace tfvm::tool
