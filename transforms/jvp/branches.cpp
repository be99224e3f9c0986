// call, with the own rules that ride on it, cond and switch.
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

std::vector<ValueId> joined(std::span<const ValueId> a, std::span<const ValueId> b) {
  std::vector<ValueId> out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

std::vector<ValueId> active_tangents(JvpCtx& c, std::size_t from = 0) {
  std::vector<ValueId> out;
  for (std::size_t k = from; k < c.t.size(); ++k)
    if (c.active(k)) out.push_back(c.t[k]);
  return out;
}

// Tangents of all differentiable operands, as own rules take them.
std::vector<ValueId> all_tangents(JvpCtx& c) {
  std::vector<ValueId> out;
  for (std::size_t k = 0; k < c.x.size(); ++k)
    if (c.tables().types.is_differentiable(c.b.type(c.x[k]))) out.push_back(c.tangent(k));
  return out;
}

// Splits results (outputs…, tangents of the outputs in `has`…).
void deal(JvpCtx& c, std::span<const ValueId> results, const Mask& has) {
  if (c.b.failed()) return;
  const std::size_t n = has.size();
  c.y.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t k = 0, at = n; k < n; ++k)
    if (has[k]) c.dy[k] = results[at++];
}

std::vector<ValueId> emit_call(JvpCtx& c, FunctionId f, std::span<const ValueId> args) {
  return c.b.emit_all(Op::call, args, c.tables().attrs.dict({{Key::callee, f}}));
}

// A rule has the wrong number of results: says so by its name.
bool check_results(JvpCtx& c, FunctionId rule, std::string_view what, std::size_t expected) {
  const Tables& t = c.tables();
  const std::size_t got = t.bodies[rule.body].results.size();
  if (got == expected) return true;
  c.b.fail(Code::Type, "[" + std::string(what) + "] " + t.debugs.function_name(rule.debug, t.strings) + " gives " +
                           std::to_string(got) + " results, expected " + std::to_string(expected));
  return false;
}

// custom_jvp: (primals…, tangents…) -> (outputs…, output tangents…).
void own_jvp(JvpCtx& c, FunctionId rule, const Mask& has) {
  if (!check_results(c, rule, "custom_jvp", has.size() + count(has))) return;
  deal(c, emit_call(c, rule, joined(c.x, all_tangents(c))), has);
}

// derivative: (primals…, outputs…, tangents…) -> output tangents, of the outputs that the call itself gives.
void own_derivative(JvpCtx& c, FunctionId rule, const Mask& has) {
  if (!check_results(c, rule, "derivative", count(has))) return;
  c.y = c.b.emit_all(Op::call, c.x, c.in.attrs);
  const std::vector<ValueId> results = emit_call(c, rule, joined(joined(c.x, c.y), all_tangents(c)));
  for (std::size_t k = 0, at = 0; k < has.size() && !c.b.failed(); ++k)
    if (has[k]) c.dy[k] = results[at++];
}

// A function of the given signature that gives zeros: what a call stands for that is only there to be transposed.
FunctionId zero_function(JvpCtx& c, std::span<const ValueId> args, std::span<const TypeId> results) {
  Builder b(c.tables(), c.env.options, "transpose_only");
  for (ValueId v : args) b.param(c.b.type(v));
  std::vector<ValueId> zeros;
  for (TypeId t : results) zeros.push_back(b.zeros(t));
  const Result<FunctionId> f = b.seal(zeros);
  if (!f) forward(c.b, f.error());
  return f ? *f : FunctionId{};
}

// custom_vjp: @fwd gives outputs and residuals; the tangents are a call that only @bwd can transpose.
void own_vjp(JvpCtx& c, FunctionId callee, const Mask& has) {
  const Tables& t = c.tables();
  if (c.mode == JvpMode::Forward) {
    c.b.fail(Code::Unsupported, "forward mode through " + t.debugs.function_name(callee.debug, t.strings) +
                                    ", which has a custom_vjp: give it a rule by `derivative` instead, which serves "
                                    "both modes");
    return;
  }
  const FunctionId bwd = c.func(Key::bwd);
  const std::vector<TypeId> params(t.bodies[callee.body].param_types().begin(),
                                   t.bodies[callee.body].param_types().end());
  if (!check_results(c, bwd, "custom_vjp", count(differentiable(t, params)))) return;
  const std::vector<ValueId> forward_results = emit_call(c, c.func(Key::fwd), c.x);
  if (c.b.failed()) return;
  const auto split = forward_results.begin() + static_cast<std::ptrdiff_t>(has.size());
  c.y.assign(forward_results.begin(), split);
  const std::vector<ValueId> args = joined(std::vector<ValueId>(split, forward_results.end()), all_tangents(c));
  std::vector<TypeId> types;
  for (std::size_t k = 0; k < has.size(); ++k)
    if (has[k]) types.push_back(c.b.type(c.y[k]));
  const FunctionId zeros = zero_function(c, args, types);
  if (!zeros) return;
  const std::vector<ValueId> tangents =
      c.b.emit_all(Op::call, args, c.tables().attrs.dict({{Key::callee, zeros}, {Key::bwd, bwd}}));
  for (std::size_t k = 0, at = 0; k < has.size() && !c.b.failed(); ++k)
    if (has[k]) c.dy[k] = tangents[at++];
}

// All of `functions`, differentiated for the union of their active results.
std::vector<FunctionId> jvp_all(JvpCtx& c, std::span<const FunctionId> functions, const Mask& in, Mask& out) {
  for (FunctionId f : functions) {
    const Result<Jvp> r = jvp(c.env, f, in, out, c.mode);
    if (!r) return forward(c.b, r.error()), std::vector<FunctionId>{};
    out = r->out;
  }
  std::vector<FunctionId> done;
  for (FunctionId f : functions) {
    const Result<Jvp> r = jvp(c.env, f, in, out, c.mode);
    if (!r) return forward(c.b, r.error()), std::vector<FunctionId>{};
    done.push_back(r->f);
  }
  return done;
}

}  // namespace

void jvp_call(JvpCtx& c) {
  AttrTable& at = c.tables().attrs;
  const FunctionId callee = c.func(Key::callee);
  const Mask has = differentiable(c.tables(), c.tables().bodies[callee.body].result_types());
  if (const FunctionId rule = c.func(Key::jvp)) return own_jvp(c, rule, has);
  if (const FunctionId rule = c.func(Key::derivative)) return own_derivative(c, rule, has);
  if (c.func(Key::fwd)) return own_vjp(c, callee, has);
  if (const FunctionId f = c.func(Key::root)) return jvp_root(c, f);
  if (const FunctionId f = c.func(Key::matvec)) return jvp_linear_solve(c, f);
  const Result<Jvp> r = jvp(c.env, callee, c.active(), {}, c.mode);
  if (!r) return forward(c.b, r.error());
  const AttrId attrs = at.with(c.in.attrs, Key::callee, at.of(r->f));  // policy stays
  deal(c, c.b.emit_all(Op::call, joined(c.x, active_tangents(c)), attrs), r->out);
}

void jvp_cond(JvpCtx& c) {
  AttrTable& at = c.tables().attrs;
  const FunctionId branches[] = {c.func(Key::then), c.func(Key::else_)};
  Mask out(c.in.num_results, 0);
  const std::vector<FunctionId> f = jvp_all(c, branches, slice(c.active(), 1, c.x.size() - 1), out);
  if (c.b.failed()) return;
  const AttrId attrs = at.dict({{Key::then, f[0]}, {Key::else_, f[1]}});
  deal(c, c.b.emit_all(Op::cond, joined(c.x, active_tangents(c, 1)), attrs), out);
}

void jvp_switch(JvpCtx& c) {
  AttrTable& at = c.tables().attrs;
  std::vector<FunctionId> branches;
  for (AttrId a : at[at.get(c.in.attrs, Key::branches)].items) branches.push_back(at[a].func);
  Mask out(c.in.num_results, 0);
  const std::vector<FunctionId> f = jvp_all(c, branches, slice(c.active(), 1, c.x.size() - 1), out);
  if (c.b.failed()) return;
  std::vector<AttrId> items;
  for (FunctionId g : f) items.push_back(at.of(g));
  const AttrId attrs = at.dict({{Key::branches, at.list(items)}});
  deal(c, c.b.emit_all(Op::switch_, joined(c.x, active_tangents(c, 1)), attrs), out);
}

}  // namespace tfvm
