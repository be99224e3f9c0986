// tfasm explain: what a pass did, and what it did not do and why.

#include "tools/tfasm/explain.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bytecode/text/print_body.h"
#include "functionalize/functionalize.h"
#include "functionalize/input_output.h"
#include "functionalize/reinplace.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"
#include "transforms/simplify/licm.h"
#include "vm/plan/update_report.h"
#include "vm/type_text.h"

namespace tfvm::tool {

namespace {

using Options = ExplainOptions;

nlohmann::json json_of(const ReinplaceEntry& e) {
  nlohmann::json missed = nlohmann::json::array();
  for (const Missed& m : e.missed)
    missed.push_back(
        {{"base", m.base}, {"value", m.value}, {"why", m.why}, {"bytes", m.bytes}, {"how", std::string(name(m.how))}});
  return {{"op", e.op},     {"custom", e.custom}, {"line", e.line},    {"tried", e.tried},
          {"done", e.done}, {"missed", missed},   {"bytes", e.bytes()}};
}

nlohmann::json json_of(const UpdateEntry& e) {
  return {{"op", e.op}, {"line", e.loc.line}, {"done", e.done}, {"why", e.why}, {"bytes", e.bytes}};
}

void print(const ReinplaceLog& log, const std::vector<UpdateEntry>& updates, bool json) {
  nlohmann::json customs = nlohmann::json::array(), plain = nlohmann::json::array();
  std::int64_t bytes = 0;
  for (const ReinplaceEntry& e : log) {
    customs.push_back(json_of(e));
    if (!json) fmt::print("{}\n", text(e));
    bytes += e.bytes();
  }
  for (const UpdateEntry& e : updates) {
    plain.push_back(json_of(e));
    if (!json) fmt::print("{}\n", text(e));
    bytes += e.bytes;
  }
  if (json)
    fmt::print("{}\n", nlohmann::json({{"reinplace", customs}, {"updates", plain}, {"bytes", bytes}}).dump(2));
  else
    fmt::print("{} custom ops, {} updates, {} bytes copied\n", log.size(), updates.size(), bytes);
}

// The functional updates of the plan of a core function. With custom ops there is none: each instruction is one, on
// inputs of its own.
Result<std::vector<UpdateEntry>> updates(VM& vm, FunctionId core) {
  Tables& t = vm.tables();
  if (!has_functional_custom(t, core)) {
    const Result<FunctionId> lean = licm(vm.transforms(), core);
    if (!lean) return lean.error();
    const Result<PlanRef> plan = vm.plans().get(t, *lean);
    return plan ? Result<std::vector<UpdateEntry>>(updates_of(t, **plan)) : plan.error();
  }
  std::vector<UpdateEntry> out;
  const Body& body = t.body(core);
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::dynamic_update_slice || in.op == Op::scatter || in.op == Op::scatter_along)
      out.push_back({std::string(name(in.op)), t.debugs.find_loc(core.debug, static_cast<InstrId>(i)), false, false,
                     "a function with custom ops runs by steps, which give fresh values",
                     t.types.bytes(body.type(in.result()))});
  }
  return out;
}

nlohmann::json json_of(const Tables& t, const InputOutput& io) {
  nlohmann::json inputs = nlohmann::json::array(), outputs = nlohmann::json::array();
  for (const InputInfo& in : io.inputs)
    inputs.push_back({{"name", in.name}, {"type", t.types.text(in.type)}, {"written", text(in.change)}});
  for (const OutputInfo& out : io.outputs)
    outputs.push_back({{"type", t.types.text(out.type)}, {"is", text(t, io, out)}});
  return {{"globals", io.globals}, {"intermediates", io.intermediates}, {"inputs", inputs}, {"outputs", outputs}};
}

Status explain_io(Tables& t, FunctionId f, const FunctionalizeOptions& options, bool json) {
  const Result<InputOutput> io = input_output(t, f, options);
  if (!io) return io.error();
  fmt::print("{}", json ? json_of(t, *io).dump(2) + "\n" : text(t, *io));
  return ok();
}

Status explain_reinplace(VM& vm, FunctionId f, const FunctionalizeOptions& options, const Options& o) {
  Tables& t = vm.tables();
  const Result<LiftedFunction> lifted = functionalize_lifted(t, f, options);
  if (!lifted) return lifted.error();
  const FunctionId core = lifted->f;
  if (o.code) fmt::print("// functionalized\n{}\n", print_function(t, core));
  ReinplaceLog log;
  const Result<FunctionId> made = reinplace(t, core, lifted->written, &log);
  if (!made) return made.error();
  if (o.code) fmt::print("// reinplaced\n{}\n", print_function(t, *made));
  const Result<std::vector<UpdateEntry>> plain = updates(vm, core);
  if (!plain) return plain.error();
  print(log, *plain, o.json);
  return ok();
}

Status explain(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return s;
  const std::lock_guard guard(vm.lock());
  Tables& t = vm.tables();
  Result<ParsedCallee> parsed = parse_function(vm, o.function);
  if (!parsed) return std::move(parsed).error();
  const Result<Callee*> callee = vm.program().callee(parsed->pools, parsed->callee);
  if (!callee) return callee.error();
  const Result<std::vector<TypeId>> types = parse_types(t.types, o.args.empty() ? "" : o.args[0]);
  if (!types) return types.error();
  const Result<FunctionId> f = (*callee)->instantiate(*types);
  if (!f) return f.error();
  const FunctionalizeOptions options{vm.transforms().options, o.how == "v1"};
  return o.what == "io" ? explain_io(t, *f, options, o.json) : explain_reinplace(vm, *f, options, o);
}

int explain(const Options& o) {
  const bool of_passes = o.what == "reinplace" || o.what == "io";
  VmOptions options;
  options.plan.note_fusion = o.what == "fusion";
  options.cache.folder.clear();  // what it holds is past all decisions
  Result<std::unique_ptr<VM>> vm = VM::create(options);
  if (!vm) return report(vm.error(), StringTable());
  const Status s = of_passes ? explain(**vm, o) : explain_making(**vm, o);
  std::fflush(stdout);
  return s ? kDone : report(s.error(), (*vm)->tables().strings);
}

}  // namespace

void add_explain(Application& app) {
  const Command cmd = app.command("explain", "Say what a pass did with a function, and what not and why");
  const auto o = std::make_shared<Options>();
  cmd.option("PASS", o->what,
             "reinplace: which custom ops and updates write in place, and which copy; io: which inputs are written, "
             "and which outputs are inputs or views of them; guards: what the function is made for; recompiles: "
             "which argument has it made again, for each --args in turn; fusion: which ops share a loop nest, and "
             "which values go through memory and why; batch_rule: how vmap batches each op")
      .required()
      .one_of({"reinplace", "io", "guards", "recompiles", "fusion", "batch_rule"});
  cmd.option("FILE", o->file, "The program").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function").required();
  cmd.option("--args", o->args, "Types of the arguments; again for the next call");
  cmd.option("--auto", o->how, "The form of custom ops").one_of({"v1", "v2"});
  cmd.flag("--json", o->json, "As JSON");
  cmd.flag("--code", o->code, "Print the code before and after, too");
  cmd.footer(
      "  tfasm explain reinplace kv.tfa @step --args \"f32[2,8,4] f32[4] i64\"\n"
      "  tfasm explain io kv.tfa @step --args \"f32[2,8,4], f32[4]\" --json\n"
      "  tfasm explain recompiles examples/per_sample.tfa @gradient --args \"f32[3], f32, f32[3], f32\"\n"
      "  tfasm explain fusion examples/pendulum.tfa @rollout --args f64");
  cmd.action([o] { return explain(*o); });
}

}  // namespace tfvm::tool
