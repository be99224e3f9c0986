// Calls: the callee is batched for the flags of its arguments, and so are the own rules that ride on the call.
#include <algorithm>

#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

bool Branches::add(BatchCtx& c, FunctionId f, const Mask& in) {
  Result<Batched> r = batch(c.env, f, in, c.axis, out);
  if (!r) {
    forward_error(c.b, r.error());
    return false;
  }
  functions.push_back(r->f);
  out = r->out;
  return true;
}

void forward_error(Builder& b, const Error& e) {
  // The place inside the callee says more than the place of the call.
  if (e.loc.line) b.set_loc(e.loc);
  b.fail(e.code, e.message);
}

FunctionId batched_function(BatchCtx& c, FunctionId f, const Mask& in, Mask& out, bool exact) {
  Result<Batched> r = batch(c.env, f, in, c.axis, out);
  if (!r) {
    forward_error(c.b, r.error());
    return {};
  }
  if (exact && !out.empty() && r->out != out) c.b.fail(Code::Internal, "a rule is batched where its function is not");
  out = r->out;
  return r->f;
}

namespace {

Mask joined(std::initializer_list<const Mask*> parts) {
  Mask m;
  for (const Mask* p : parts) m.insert(m.end(), p->begin(), p->end());
  return m;
}

// The flags of those values of `types` that have tangents.
Mask differentiable_part(const Tables& t, std::span<const TypeId> types, const Mask& flags) {
  Mask m;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (t.types.is_differentiable(types[k])) m.push_back(flags[k]);
  return m;
}

// @bwd with cotangents per lane: those of unbatched inputs are summed over lanes.
FunctionId batched_bwd(BatchCtx& c, FunctionId bwd, const Mask& in, const Mask& wanted) {
  Mask out;
  const FunctionId f = batched_function(c, bwd, in, out, false);
  if (!f) return {};
  Builder b(c.t(), c.env.options, bwd, "vmap");
  const Body& body = c.t().bodies[f.body];
  std::vector<ValueId> args;
  for (TypeId type : body.param_types()) args.push_back(b.param(type));
  std::vector<ValueId> cts = b.emit_all(Op::call, args, c.t().attrs.dict({{Key::callee, f}}));
  for (std::size_t k = 0; k < cts.size() && k < wanted.size(); ++k) {
    const std::int64_t first[] = {0};
    BatchCtx local{c.env, b, c.axis, bwd, c.in, {}, {}, c.out, c.out_batched};
    if (out[k] && !wanted[k])
      cts[k] = b.emit(Op::reduce_sum, {cts[k]}, {{Key::axes, Ints(first)}});
    else if (!out[k] && wanted[k])
      cts[k] = local.add_batch(cts[k]);
  }
  Result<FunctionId> r = b.seal(cts);
  if (!r) forward_error(c.b, r.error());
  return r ? *r : FunctionId{};
}

}  // namespace

void batch_call(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  if (at.has(c.in.attrs, Key::root) || at.has(c.in.attrs, Key::matvec)) return batch_implicit(c);
  const FunctionId f = at.get_func(c.in.attrs, Key::callee);
  const Body& body = c.t().bodies[f.body];
  const Mask in(c.batched.begin(), c.batched.end());
  const Mask in_float = differentiable_part(c.t(), body.param_types(), in);
  const std::vector<TypeId> result_types = body.result_types();
  const auto rule = [&](Key k) { return at[at.get(c.in.attrs, k)].func; };
  Mask out;
  FunctionId callee = batched_function(c, f, in, out, false);
  if (c.b.failed()) return;
  AttrId attrs = c.in.attrs;
  if (const FunctionId fwd = rule(Key::fwd)) {
    // The rule may batch more outputs than the function: then the function gives them batched too.
    Mask fwd_out;
    FunctionId batched_fwd = batched_function(c, fwd, in, fwd_out, false);
    if (c.b.failed()) return;
    for (std::size_t k = 0; k < out.size(); ++k) fwd_out[k] = out[k] = fwd_out[k] || out[k];
    batched_fwd = batched_function(c, fwd, in, fwd_out, true);
    callee = batched_function(c, f, in, out, true);
    const Mask residuals(fwd_out.begin() + static_cast<std::ptrdiff_t>(out.size()), fwd_out.end());
    const Mask cts = differentiable_part(c.t(), result_types, out);
    const Mask bwd_in = joined({&residuals, &cts});
    const FunctionId bwd = batched_bwd(c, rule(Key::bwd), bwd_in, in_float);
    if (c.b.failed()) return;
    attrs = at.with(at.with(attrs, Key::fwd, at.of(batched_fwd)), Key::bwd, at.of(bwd));
  }
  if (const FunctionId jvp = rule(Key::jvp)) {
    const Mask rule_in = joined({&in, &in_float});
    Mask both;
    batched_function(c, jvp, rule_in, both, false);
    if (c.b.failed()) return;
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = out[k] || both[k];
    for (std::size_t k = 0, t = out.size(); k < out.size(); ++k)
      if (c.t().types.is_differentiable(result_types[k])) out[k] = out[k] || both[t++];
    const Mask tangents = differentiable_part(c.t(), result_types, out);
    Mask wanted = joined({&out, &tangents});
    attrs = at.with(attrs, Key::jvp, at.of(batched_function(c, jvp, rule_in, wanted, true)));
    callee = batched_function(c, f, in, out, true);
  }
  if (const FunctionId derivative = rule(Key::derivative)) {
    Mask rule_in = joined({&in, &out, &in_float});
    Mask tangents;
    batched_function(c, derivative, rule_in, tangents, false);
    if (c.b.failed()) return;
    for (std::size_t k = 0, t = 0; k < out.size(); ++k)
      if (c.t().types.is_differentiable(result_types[k])) out[k] = out[k] || tangents[t++];
    rule_in = joined({&in, &out, &in_float});
    tangents = differentiable_part(c.t(), result_types, out);
    attrs = at.with(attrs, Key::derivative, at.of(batched_function(c, derivative, rule_in, tangents, true)));
    callee = batched_function(c, f, in, out, true);
  }
  if (c.b.failed()) return;
  const std::vector<ValueId> results = c.b.emit_all(Op::call, c.x, at.with(attrs, Key::callee, at.of(callee)));
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], out[k]);
}

}  // namespace tfvm
