// tfasm transform: the bytecode of a derived function, after each transform of its nest.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "bytecode/text/print_body.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"
#include "transforms/simplify/licm.h"
#include "transforms/simplify/size.h"
#include "vm/type_text.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function, args;
  std::vector<std::string> passes;
  bool last = false, stats = false;
};

// One transform of a nest: vmap of vmap(grad(@f)).
struct Level {
  Callee* callee;
  std::string pass;  // "" for the function as written
};

// The nest, innermost first. A derived function of the module stands for what it is derived from.
Result<std::vector<Level>> nest(VM& vm, const Module& pools, std::uint32_t at) {
  const CalleeExpr& e = pools.callees[at];
  const StringTable& strings = vm.tables().strings;
  const Module& m = vm.module();
  if (!e.is_transform())
    if (const Item* item = m.find(e.name); item && item->kind == ItemKind::Derived)
      return nest(vm, m, m.derived[item->at].callee);
  std::vector<Level> levels;
  if (e.is_transform()) {
    Result<std::vector<Level>> inner = nest(vm, pools, e.inner);
    if (!inner) return inner;
    levels = *std::move(inner);
  }
  const Result<Callee*> callee = vm.program().callee(pools, at);
  if (!callee) return callee.error();
  levels.push_back({*callee, e.is_transform() ? std::string(strings[e.name]) : ""});
  return levels;
}

void print_level(VM& vm, std::string_view title, FunctionId f) {
  fmt::print("// {}\n{}\n", title, print_function(vm.tables(), f));
}

// A line of the table that --stats prints.
void print_size(VM& vm, std::string_view title, FunctionId f) {
  const CodeSize size = code_size(vm.tables(), f);
  fmt::print("{:>12}  {:>9}  {}\n", size.instructions, size.functions, title);
}

Status transform(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return s;
  const std::lock_guard guard(vm.lock());
  Result<ParsedCallee> parsed = parse_function(vm, o.function);
  if (!parsed) return std::move(parsed).error();
  const Result<std::vector<Level>> levels = nest(vm, parsed->pools, parsed->callee);
  if (!levels) return levels.error();
  const Result<std::vector<TypeId>> types = parse_types(vm.tables().types, o.args);
  if (!types) return types.error();
  // Passes inside of a transform, as jvp, split and transpose of grad.
  vm.transforms().memo.trace = [&](std::string_view pass, const PassResult& r) {
    for (const std::string& wanted : o.passes)
      if (wanted == pass || wanted == "all") print_level(vm, fmt::format("pass {}", pass), r.f);
  };
  Result<FunctionId> made = levels->back().callee->instantiate(*types);
  if (made && !o.passes.empty()) made = licm(vm.transforms(), *made);  // as before a run
  vm.transforms().memo.trace = {};
  if (!made) return made.error();
  if (!o.passes.empty()) return ok();
  if (o.stats) fmt::print("{:>12}  {:>9}  of\n", "instructions", "functions");
  for (const Level& level : *levels) {
    if (o.last && &level != &levels->back()) continue;
    for (const FunctionId f : level.callee->instances()) {
      if (o.stats) {
        print_size(vm, level.callee->text(), f);
        continue;
      }
      print_level(
          vm, level.pass.empty() ? level.callee->text() : fmt::format("after {}: {}", level.pass, level.callee->text()),
          f);
    }
  }
  return ok();
}

int transform(const Options& o) {
  Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return report(vm.error(), StringTable());
  const Status s = transform(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_transform(Application& app) {
  const Command cmd = app.command("transform", "Print the bytecode of a function after each of its transforms");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function").required();
  cmd.option("--args", o->args, "Types of the arguments");
  cmd.option("-p,--pass", o->passes,
             "Instead print each result of this pass: jvp, split, transpose, vmap, …, or all of them;\n"
             "licm comes last, before a function is run");
  cmd.flag("--last", o->last, "Print only the outermost function");
  cmd.flag("--stats", o->stats, "Instead print how large each function is, with all that it runs");
  cmd.footer(
      "The innermost function comes first, as written and typed. Types are concrete: shapes are known, broadcasting\n"
      "is explicit, attributes that have their default are left out.\n\n"
      "Examples:\n"
      "  tfasm transform first.tfa @per_sample --args 'f32[3], f32[2,3], f32[2]'\n"
      "  tfasm transform first.tfa 'vmap(grad(@loss), in_dims=[none, 0, 0])' --args 'f32[3], f32[2,3], f32[2]' --last\n"
      "  tfasm transform first.tfa 'grad(@loss)' --args 'f32[3], f32[3], f32' --pass transpose\n"
      "  tfasm transform first.tfa 'grad(@loss)' --args 'f32[3], f32[3], f32' --stats");
  cmd.action([o] { return transform(*o); });
}

}  // namespace tfvm::tool
