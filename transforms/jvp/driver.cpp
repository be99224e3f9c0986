// The walk: one instruction at a time through the rules; memoised by (function, active, forced, mode).
#include <algorithm>

#include "transforms/jvp/rules.h"

namespace tfvm {

Mask JvpCtx::active() const {
  Mask m;
  for (ValueId v : t) m.push_back(v != kNoValue);
  return m;
}

ValueId JvpCtx::add(ValueId a, ValueId c) {
  if (a == kNoValue) return c;
  return c == kNoValue ? a : add_values(b, a, c);
}

bool jvp_apply(JvpCtx& c, const JvpEntry& entry) {
  switch (entry.kind) {
    case JvpKind::Linear:
      return jvp_linear(c, entry.linear), true;
    case JvpKind::Text:
      return jvp_text(c), true;
    case JvpKind::Rule:
    case JvpKind::Whole:
      return entry.rule(c), true;
    default:
      return false;
  }
}

namespace {

struct Walk {
  TransformEnv& env;
  const Body& body;
  Builder b;
  JvpMode mode;
  std::vector<ValueId> primal, tangent;  // per value of the source
  std::vector<ValueId> x, t, y, dy;      // of the instruction at hand
  std::map<std::pair<std::uint32_t, TypeId>, FunctionId> text;

  Walk(TransformEnv& e, FunctionId f, JvpMode m)
      : env(e), body(e.tables.bodies[f.body]), b(e.tables, e.options, f, "jvp"), mode(m) {
    primal.assign(body.num_values(), kNoValue);
    tangent.assign(body.num_values(), kNoValue);
    b.reserve(3 * body.num_instrs(), 3 * body.num_values());  // with tangents, and what their rules take
  }

  void params(const Mask& active) {
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      primal[k] = b.param(body.types[k]);
      b.name_from(primal[k], body.param(k));
    }
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      if (!active[k]) continue;
      tangent[k] = b.param(body.types[k]);
      b.name_from(tangent[k], body.param(k), "t");
    }
  }

  void apply(const Instr& in) {
    const JvpEntry entry = jvp_entry(in.op);
    const bool active = std::ranges::any_of(t, [](ValueId v) { return v != kNoValue; });
    if (!active || entry.kind != JvpKind::Whole) {
      const ValueId first = b.copy(body, in, x);
      for (std::uint32_t k = 0; first != kNoValue && k < in.num_results; ++k)
        y.push_back(static_cast<ValueId>(index(first) + k));
    }
    if (!active || entry.kind == JvpKind::Zero || b.failed()) return;
    JvpCtx c{env, b, mode, in, x, t, y, dy, text};
    if (jvp_apply(c, entry)) return;
    const OpInfo& row = info(in.op);
    b.fail(Code::Unsupported, "[jvp] " + std::string(row.name) + " has no derivative rule" +
                                  (row.hole.empty() ? "" : " (" + std::string(row.hole) + ")"));
  }

  void instr(std::uint32_t i) {
    const Instr in = body.instr(i);
    b.set_origin(static_cast<InstrId>(i));
    if (in.op == Op::constant) {
      primal[index(in.first_result)] = b.copy(body, in, {});
      return;
    }
    x.clear(), t.clear(), y.clear();
    for (ValueId v : in.operands) {
      x.push_back(primal[index(v)]);
      t.push_back(tangent[index(v)]);
    }
    dy.assign(in.num_results, kNoValue);
    apply(in);
    for (std::size_t k = 0; k < in.num_results && k < y.size(); ++k) {
      const ValueId v = in.result(static_cast<std::uint32_t>(k));
      primal[index(v)] = y[k];
      b.name_from(y[k], v);
      if (k >= dy.size() || dy[k] == kNoValue || !env.tables.types.is_differentiable(body.type(v))) continue;
      if (is_zero(b, dy[k])) continue;
      tangent[index(v)] = dy[k];
      b.name_from(dy[k], v, "t");
    }
  }
};

}  // namespace

Result<Jvp> jvp(TransformEnv& env, FunctionId f, const Mask& active, const Mask& force, JvpMode mode) {
  std::vector<std::int64_t> key = memo_key({&active, &force});
  key.push_back(static_cast<std::int64_t>(mode));
  if (const PassResult* known = env.memo.find("jvp", f, key)) return Jvp{known->f, known->mask};
  if (env.tables.bodies[f.body].full)
    return Error{Code::Unsupported, "[jvp] " + env.tables.debugs.function_name(f.debug, env.tables.strings) +
                                        " writes or aliases: derivatives of such functions come with functionalize"};
  Walk w(env, f, mode);
  w.params(active);
  for (std::uint32_t i = 0; i < w.body.num_instrs() && !w.b.failed(); ++i) w.instr(i);
  Jvp result;
  std::vector<ValueId> results, tangents;
  for (std::size_t k = 0; k < w.body.results.size() && !w.b.failed(); ++k) {
    const std::uint32_t v = index(w.body.results[k]);
    results.push_back(w.primal[v]);
    const bool forced = k < force.size() && force[k];
    result.out.push_back(forced || w.tangent[v] != kNoValue);
    if (!result.out.back()) continue;
    tangents.push_back(w.tangent[v] != kNoValue ? w.tangent[v] : w.b.zeros(w.body.types[v]));
  }
  results.insert(results.end(), tangents.begin(), tangents.end());
  Result<FunctionId> sealed = w.b.seal(results);
  if (!sealed) return note_pass(env.tables, sealed.error(), "jvp", f);
  result.f = *sealed;
  env.memo.add("jvp", f, key, {result.f, result.out, {}, {}});
  return result;
}

}  // namespace tfvm
