// tfasm explain: what a pass did, and what it did not do and why.

#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bytecode/text/print_body.h"
#include "functionalize/functionalize.h"
#include "functionalize/reinplace.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"
#include "vm/type_text.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string what, file, function, args, how = "v2";
  bool json = false, code = false;
};

nlohmann::json json_of(const ReinplaceEntry& e) {
  nlohmann::json missed = nlohmann::json::array();
  for (const Missed& m : e.missed)
    missed.push_back({{"base", m.base}, {"value", m.value}, {"why", m.why}, {"bytes", m.bytes}});
  return {{"op", e.op},     {"custom", e.custom}, {"line", e.line},    {"tried", e.tried},
          {"done", e.done}, {"missed", missed},   {"bytes", e.bytes()}};
}

void print(const ReinplaceLog& log, bool json) {
  nlohmann::json all = nlohmann::json::array();
  std::int64_t bytes = 0;
  for (const ReinplaceEntry& e : log) {
    if (json)
      all.push_back(json_of(e));
    else
      fmt::print("{}\n", text(e));
    bytes += e.bytes();
  }
  if (json)
    fmt::print("{}\n", nlohmann::json({{"reinplace", all}, {"bytes", bytes}}).dump(2));
  else
    fmt::print("{} custom ops, {} bytes copied\n", log.size(), bytes);
}

Status explain(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return s;
  const std::lock_guard guard(vm.lock());
  Tables& t = vm.tables();
  Result<ParsedCallee> parsed = parse_function(vm, o.function);
  if (!parsed) return std::move(parsed).error();
  const Result<Callee*> callee = vm.program().callee(parsed->pools, parsed->callee);
  if (!callee) return callee.error();
  const Result<std::vector<TypeId>> types = parse_types(t.types, o.args);
  if (!types) return types.error();
  const Result<FunctionId> f = (*callee)->instantiate(*types);
  if (!f) return f.error();
  std::vector<std::uint32_t> into;
  const Body& body = t.body(*f);
  if (written_globals(t, *f).empty())
    for (std::uint32_t k = 0; k < body.mut_params.size(); ++k)
      if (body.mut_params[k]) into.push_back(k);
  const Result<FunctionId> core = functionalize(t, *f, {vm.transforms().options, o.how == "v1"});
  if (!core) return core.error();
  if (o.code) fmt::print("// functionalized\n{}\n", print_function(t, *core));
  ReinplaceLog log;
  const Result<FunctionId> made = reinplace(t, *core, into, &log);
  if (!made) return made.error();
  if (o.code) fmt::print("// reinplaced\n{}\n", print_function(t, *made));
  print(log, o.json);
  return ok();
}

int explain(const Options& o) {
  Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return report(vm.error(), StringTable());
  const Status s = explain(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  CLI::App* cmd = app.add_subcommand("explain", "Say what a pass did with a function, and what not and why");
  const auto o = std::make_shared<Options>();
  cmd->add_option("PASS", o->what, "reinplace: which custom ops write into their inputs, and which clone them")
      ->required()
      ->check(CLI::IsMember({"reinplace"}));
  cmd->add_option("FILE", o->file, "The program")->required();
  cmd->add_option("FUNCTION", o->function, "@name or a derived function")->required();
  cmd->add_option("--args", o->args, "Types of the arguments")->allow_extra_args(false);
  cmd->add_option("--auto", o->how, "The form of custom ops")->check(CLI::IsMember({"v1", "v2"}));
  cmd->add_flag("--json", o->json, "As JSON");
  cmd->add_flag("--code", o->code, "Print the code before and after, too");
  cmd->footer("  tfasm explain reinplace kv.tfa @step --args \"f32[2,8,4] f32[4] i64\"");
  cmd->callback([o, &exit_code] { exit_code = explain(*o); });
}

}  // namespace tfvm::tool
