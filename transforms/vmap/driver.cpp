// The walk: maps values and flags through the rules, memoised by (function, axis, flags, forced flags).
#include <algorithm>

#include "bytecode/nested_types.h"
#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

struct Walk {
  TransformEnv& env;
  FunctionId source;
  const Body& body;
  Builder b;
  const Axis& axis;
  std::vector<ValueId> map;
  Mask batched;

  Walk(TransformEnv& e, FunctionId f, const Axis& a)
      : env(e), source(f), body(e.tables.bodies[f.body]), b(e.tables, e.options, f, "vmap"), axis(a) {
    map.assign(body.num_values(), kNoValue);
    batched.assign(body.num_values(), 0);
  }

  void params(const Mask& in) {
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      TypeId type = body.types[k];
      const std::optional<TypeId> wide = in[k] ? batched_type(env.tables.types, type, axis.size) : type;
      if (!wide) return void(b.fail(Code::Type, "[vmap] a batch of " + env.tables.types.text(type) + " is too large"));
      map[k] = b.param(*wide);
      batched[k] = in[k];
      b.name_from(map[k], body.param(k), in[k] ? "b" : "");
    }
  }

  void trace(std::uint32_t i, std::string_view how, const Mask& flags) {
    if (env.batch_trace) env.batch_trace(source, static_cast<InstrId>(i), how, flags);
  }

  void instr(std::uint32_t i) {
    const Instr in = body.instr(i);
    b.set_origin(static_cast<InstrId>(i));
    if (in.op == Op::constant) {
      map[index(in.first_result)] = b.constant(env.tables.attrs[in.attrs].constant);
      return;
    }
    std::vector<ValueId> x, out;
    Mask flags, out_flags;
    for (ValueId v : in.operands) {
      x.push_back(map[index(v)]);
      flags.push_back(batched[index(v)]);
    }
    BatchCtx c{env, b, axis, source, in, x, flags, out, out_flags};
    const LaneUse use = lane_use(env, in);
    if (c.any_batched() || use.draws || use.collectives) {
      const BatchRule rule = batch_rule(in.op);
      trace(i, !rule ? "a loop over lanes" : is_elementwise(info(in.op).kind) ? "elementwise" : "the op's rule", flags);
      (rule ? rule : batch_by_lanes)(c);
    } else {
      trace(i, "as it is", flags);
      for (ValueId v : b.emit_all(in.op, x, in.attrs)) c.push(v, false);
    }
    for (std::size_t k = 0; k < out.size() && k < in.num_results; ++k) {
      const std::uint32_t v = index(in.result(static_cast<std::uint32_t>(k)));
      map[v] = out[k];
      batched[v] = out_flags[k];
      b.name_from(out[k], static_cast<ValueId>(v), out_flags[k] ? "b" : "");
    }
  }
};

}  // namespace

Result<Batched> batch(TransformEnv& env, FunctionId f, const Mask& in, const Axis& axis, const Mask& force) {
  std::vector<std::int64_t> key{axis.size, static_cast<std::int64_t>(axis.name),
                                static_cast<std::int64_t>(axis.randomness), axis.chunk};
  for (const Mask* m : {&in, &force}) {
    key.push_back(static_cast<std::int64_t>(m->size()));
    key.insert(key.end(), m->begin(), m->end());
  }
  if (const PassResult* known = env.memo.find("vmap", f, key)) return Batched{known->f, known->mask};
  Walk w(env, f, axis);
  w.params(in);
  for (std::uint32_t i = 0; i < w.body.num_instrs() && !w.b.failed(); ++i) w.instr(i);
  Batched result;
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < w.body.results.size(); ++k) {
    const std::uint32_t v = index(w.body.results[k]);
    const bool forced = k < force.size() && force[k] && !w.batched[v];
    results.push_back(forced ? add_batch_dim(w.b, w.map[v], axis.size) : w.map[v]);
    result.out.push_back(forced || w.batched[v]);
  }
  Result<FunctionId> sealed = w.b.seal(results);
  if (!sealed)
    return std::move(sealed).error().note("in vmap of " + env.tables.debugs.function_name(f.debug, env.tables.strings));
  result.f = *sealed;
  env.memo.add("vmap", f, key, {result.f, result.out});
  return result;
}

}  // namespace tfvm
