// checkpoint: the known part runs the function for its known results and keeps what the policy saves; the linear part
// is the whole function, in which what was saved is given. Saved values are looked for in the function and in what it
// calls, not within loops and branches.
#include <algorithm>

#include "bytecode/rewriter.h"
#include "transforms/simplify/dead_outputs.h"
#include "transforms/simplify/inline_calls.h"
#include "transforms/split/rules.h"

namespace tfvm {

namespace {

constexpr InlineSizes kInlined{1u << 16, 1u << 16};

bool is_saved(const Tables& t, const CheckpointPolicy& policy, const Instr& in) {
  switch (policy.kind) {
    case CheckpointPolicy::Kind::Dots:
      return in.op == Op::dot_general || in.op == Op::conv;
    case CheckpointPolicy::Kind::Names:
      return in.op == Op::name &&
             (policy.names.empty() ||
              std::ranges::find(policy.names, t.attrs[t.attrs.get(in.attrs, Key::name)].str) != policy.names.end());
    default:
      return false;
  }
}

// Values of `f` that the policy saves and that need no unknown parameter.
std::vector<ValueId> saved_values(const Tables& t, FunctionId f, const Mask& unknown, const CheckpointPolicy& policy) {
  const Body& body = t.bodies[f.body];
  std::vector<std::uint8_t> depends(body.num_values(), 0);
  std::ranges::copy(unknown, depends.begin());
  std::vector<ValueId> out;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    const bool d = std::ranges::any_of(in.operands, [&](ValueId v) { return depends[index(v)] != 0; });
    for (std::uint32_t k = 0; k < in.num_results; ++k) depends[index(in.result(k))] = d;
    if (!d && is_saved(t, policy, in)) out.push_back(in.result());
  }
  return out;
}

// `f` that gives `values` behind its results.
Result<FunctionId> giving(TransformEnv& env, FunctionId f, std::span<const ValueId> values) {
  Body body = env.tables.bodies[f.body];
  body.results.insert(body.results.end(), values.begin(), values.end());
  return FunctionId{env.tables.bodies.intern(std::move(body)), f.debug};
}

// (values…, parameters of f…) -> the results of f flagged, made with these values instead of its own.
Result<FunctionId> given(TransformEnv& env, FunctionId f, std::span<const ValueId> values, const Mask& wanted) {
  const Body& body = env.tables.bodies[f.body];
  Builder b(env.tables, env.options, f, "");
  std::vector<ValueId> map(body.num_values(), kNoValue), operands, out;
  for (ValueId v : values) {
    map[index(v)] = b.param(body.type(v));
    b.name_from(map[index(v)], v);
  }
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    map[k] = b.param(body.types[k]);
    b.name_from(map[k], body.param(k));
  }
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    const Instr in = body.instr(i);
    if (in.num_results > 0 && map[index(in.first_result)] != kNoValue) continue;
    b.set_origin(static_cast<InstrId>(i));
    if (in.op == Op::constant) {
      map[index(in.first_result)] = b.constant(env.tables.attrs[in.attrs].constant);
      continue;
    }
    operands.clear();
    for (ValueId v : in.operands) operands.push_back(map[index(v)]);
    const std::vector<ValueId> results = b.emit_all(in.op, operands, in.attrs);
    for (std::uint32_t k = 0; k < results.size(); ++k) {
      map[index(in.result(k))] = results[k];
      b.name_from(results[k], in.result(k));
    }
  }
  for (std::uint32_t k : positions(wanted)) out.push_back(b.failed() ? kNoValue : map[index(body.results[k])]);
  return b.seal(out);
}

}  // namespace

void split_checkpoint(SplitCtx& c, FunctionId callee, const CheckpointPolicy& policy, AttrId written) {
  AttrTable& at = c.tables().attrs;
  const bool saves = policy.kind == CheckpointPolicy::Kind::Dots || policy.kind == CheckpointPolicy::Kind::Names;
  const Result<FunctionId> whole = saves ? inline_calls(c.env, callee, kInlined) : Result<FunctionId>(callee);
  if (!whole) return forward(c.b, whole.error());
  const std::vector<ValueId> values =
      saves ? saved_values(c.tables(), *whole, c.unknown(), policy) : std::vector<ValueId>{};
  const Result<FunctionId> more = giving(c.env, *whole, values);
  if (!more) return forward(c.b, more.error());
  const Result<Split> s = split(c.env, *more, c.unknown());
  if (!s) return forward(c.b, s.error());
  const Mask out = slice(s->unknown, 0, c.in.num_results);
  std::vector<std::uint32_t> params(positions(c.unknown(), false).size()), results(s->unknown.size() - count(out));
  for (std::uint32_t k = 0; k < params.size(); ++k) params[k] = k;
  for (std::uint32_t k = 0; k < results.size(); ++k) results[k] = k;
  Result<FunctionId> primal = rearrange(c.env, s->known, params, results);
  if (primal) primal = without_dead_outputs(c.env, *primal);  // residuals of its loops
  const Result<FunctionId> rest = given(c.env, *whole, values, out);
  if (!primal || !rest) return forward(c.b, !primal ? primal.error() : rest.error());
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < c.in.operands.size(); ++k)
    if (!c.unknown(k)) operands.push_back(c.known(k));
  const AttrId attrs = at.with(c.in.attrs, Key::policy, written);
  std::vector<SplitRef> refs;
  for (ValueId v : emit_known(c, Op::call, at.with(attrs, Key::callee, at.of(*primal)), operands, out))
    refs.push_back({true, v});
  for (std::size_t k = 0; k < c.in.operands.size(); ++k) refs.push_back(c.ref(k));
  c.step(Op::call, at.with(attrs, Key::callee, at.of(*rest)), refs, out);
}

}  // namespace tfvm
