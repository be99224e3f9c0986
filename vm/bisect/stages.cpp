#include "vm/bisect/stages.h"

#include <algorithm>

#include "bytecode/callees.h"
#include "bytecode/rewriter.h"
#include "functionalize/functionalize.h"
#include "transforms/simplify/licm.h"
#include "vm/eager/run.h"
#include "vm/tiers.h"

namespace tfvm {

std::string_view name(Stage s) {
  static constexpr std::string_view kNames[] = {"transforms", "steps",     "functionalize", "simplify", "licm",
                                                "plan",       "recompute", "fuse",          "native"};
  return kNames[static_cast<std::size_t>(s)];
}

Result<FunctionId> simplified(TransformEnv& env, FunctionId f) {
  if (const PassResult* r = env.memo.find("bisect_simplify", f, {})) return r->f;
  Tables& t = env.tables;
  const Body& body = t.bodies[f.body];
  if (body.full) return f;
  Builder b(t, {env.options.evaluator, true}, f, "");
  Rewriter w(b, f);
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::constant) {
      w.copy(static_cast<InstrId>(i));
      continue;
    }
    w.begin(static_cast<InstrId>(i));
    const auto attrs = map_callees(t.attrs, in.attrs, [&](FunctionId g) { return simplified(env, g); });
    if (!attrs) return attrs.error();
    const std::vector<ValueId> results = b.emit_all(in.op, w.operands(in), *attrs);
    for (std::uint32_t k = 0; k < results.size(); ++k) {
      w.map(in.result(k), results[k]);
      b.name_from(results[k], in.result(k));
    }
  }
  const Result<FunctionId> made = w.seal();
  if (made) env.memo.add("bisect_simplify", f, {}, {*made, {}, {}, {}});
  return made;
}

Result<FunctionId> StageRunner::planted(Stage s, Result<FunctionId> made) {
  return made && plants_.after ? plants_.after(s, *made) : made;
}

Result<FunctionId> StageRunner::through(FunctionId f, Stage last) {
  Tables& t = env_.tables;
  Result<FunctionId> now = f;
  if (last >= Stage::Functionalize && t.body(f).full)
    now = planted(Stage::Functionalize, functionalize(t, f, {env_.options, false}));
  if (now && last >= Stage::Simplify) now = planted(Stage::Simplify, simplified(env_, *now));
  if (now && last >= Stage::Licm) now = planted(Stage::Licm, licm(env_, *now));
  return now;
}

namespace {

// Tapes are pointers: what they hold is not looked at.
void hide(Tensor& tape) {
  const std::byte zero[8]{};
  if (Result<Tensor> none = Tensor::make(nullptr, DType::I64, {}, zero)) tape = *std::move(none);
}

}  // namespace

Result<StageRun> StageRunner::by_steps(FunctionId f, std::span<const Tensor> inputs) {
  Tables& t = env_.tables;
  PlanOptions options;
  options.fuse.enabled = false;
  PlanCache plans(options);
  EagerCache cache(plans, {}, true);
  Context context;
  context.limits.steps = max_steps;
  const Result<EagerRef> code = cache.get(t, f, context.budget());
  if (!code) return code.error();
  std::vector<Tensor> own;
  for (const Tensor& x : inputs) {
    Result<Tensor> copy = x.clone(context.budget());
    if (!copy) return std::move(copy).error();
    own.push_back(*std::move(copy));
  }
  EagerRun run(context, {}, &cache.sites);
  auto out = run.call(**code, own);
  if (!out) return std::move(out).error();
  StageRun done{*std::move(out), nullptr, 0, 0, {}};
  for (Tensor& r : done.results) {  // they may share memory with what is written
    Result<Tensor> copy = r.clone(context.budget());
    if (!copy) return std::move(copy).error();
    r = *std::move(copy);
  }
  for (std::size_t k = 0; k < (*code)->tapes.size(); ++k)
    if ((*code)->tapes[k]) hide(done.results[k]);
  const Body& body = t.body(f);
  for (std::size_t k = 0; k < body.mut_params.size(); ++k)
    if (body.mut_params[k]) done.results.push_back(own[k]);
  return done;
}

Result<StageRun> StageRunner::run(FunctionId f, std::span<const Tensor> inputs, const StageLimit& limit) {
  const Result<FunctionId> made = through(f, limit.last);
  if (!made) return made.error();
  if (limit.last < Stage::Plan || env_.tables.body(*made).full) return by_steps(*made, inputs);
  LimitGate gate;
  gate.max_merges = limit.last >= Stage::Fuse ? limit.merges : 0;
  gate.max_natives = limit.natives;
  gate.on_merge = plants_.on_merge;
  gate.on_native = plants_.on_native;
  TierOptions tier = tier_options_of_environment();
  tier.tier = Tier::Jit;
  Tiers tiers(tier);
  PlanOptions options;
  options.keep_nests = true;
  options.gate = &gate;
  options.fuse.gate = &gate;
  options.fuse.enabled = limit.last >= Stage::Recompute;
  if (limit.last >= Stage::Native) {
    options.tiers = &tiers;
    options.straight = true;
  }
  PlanCache plans(options);
  const Result<PlanRef> plan = plans.get(env_.tables, *made);
  if (!plan) return plan.error();
  Context context;
  context.limits.steps = max_steps;
  auto out = context.call(**plan, inputs);
  if (!out) return std::move(out).error();
  for (std::size_t k = 0; k < out->size(); ++k)
    if ((*plan)->results[k].is_tape) hide((*out)[k]);
  return StageRun{*std::move(out), *plan, gate.merges(), gate.natives(), gate.native_places()};
}

}  // namespace tfvm
