#include "transforms/packs.h"

#include <algorithm>
#include <unordered_set>

#include "transforms/reverse.h"
#include "transforms/values.h"

namespace tfvm {

namespace {

Mask all_inputs(const Tables& t, FunctionId f) { return differentiable(t, t.bodies[f.body].param_types()); }

Result<FunctionId> forward_part(TransformEnv& env, FunctionId f, const Mask& active, std::string_view pass) {
  const Result<Linearized> l = linearize(env, f, active);
  if (!l) return l.error();
  if (!env.memo.find("pack", l->jvp, {})) env.memo.add("pack", l->jvp, {}, {f, active, {}, {}});
  Reverse r(env, *l, pass);
  r.make_params();
  r.known_part();
  std::vector<ValueId> results(r.outputs().begin(), r.outputs().end());
  const AttrId attrs = env.tables.attrs.dict({{Key::callee, l->jvp}});
  results.push_back(r.builder().emit(Op::pack, r.residuals(), attrs));
  return r.builder().seal(results);
}

// The linear part that takes the items of this pack as its residuals.
Result<Linearized> linear_part(TransformEnv& env, TypeId pack, const PackOrigin& origin) {
  const Result<Linearized> l = linearize(env, origin.f, origin.active);
  if (!l) return l.error();
  const auto items = env.tables.types[pack].items;
  const auto wanted = env.tables.bodies[l->split.linear.body].param_types().first(l->split.residuals.size());
  if (std::ranges::equal(items, wanted)) return l;
  return Error{Code::Type, "the pack holds the residuals of a batch of calls: vmap with in_dims=0 for it"};
}

// The @bwd of a call that can only be transposed (the tangents of a function with a custom_vjp), in `f` or what it
// calls.
using Seen = std::unordered_set<BodyId>;
FunctionId only_transposed(const Tables& t, FunctionId f, Seen& seen);

FunctionId only_transposed(const Tables& t, AttrId id, Seen& seen) {
  const Attr a = t.attrs[id];
  FunctionId found = a.kind == AttrKind::Func ? only_transposed(t, a.func, seen) : FunctionId{};
  for (std::size_t k = 0; k < a.items.size() && !found; ++k) found = only_transposed(t, a.items[k], seen);
  return found;
}

FunctionId only_transposed(const Tables& t, FunctionId f, Seen& seen) {
  FunctionId found;
  if (!seen.insert(f.body).second) return found;
  const Body& body = t.bodies[f.body];
  for (std::uint32_t i = 0; i < body.num_instrs() && !found; ++i) {
    const Instr in = body.instr(i);
    if (info(in.op).kind != OpKind::Control) continue;
    if (in.op == Op::call && t.attrs.has(in.attrs, Key::bwd) && !t.attrs.has(in.attrs, Key::fwd))
      return t.attrs.get_func(in.attrs, Key::bwd);
    found = only_transposed(t, in.attrs, seen);
  }
  return found;
}

Mask linear_params(const Linearized& l) {
  Mask m(l.split.residuals.size(), 0);
  m.resize(m.size() + count(l.active), 1);
  return m;
}

}  // namespace

Result<FunctionId> linearize_transform(TransformEnv& env, FunctionId f) {
  return forward_part(env, f, all_inputs(env.tables, f), "linearize");
}

Result<FunctionId> fwd_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Result<Mask> active = active_inputs(env.tables, env.tables.bodies[f.body].param_types(), p.argnums, "fwd");
  return active ? forward_part(env, f, *active, "fwd") : active.error();
}

Result<PackOrigin> pack_origin(TransformEnv& env, TypeId pack) {
  const Type type = pack == kNone<TypeId> ? Type{} : env.tables.types[pack];
  const PassResult* made =
      type.kind == TypeKind::Pack && type.origin ? env.memo.find("pack", type.origin, {}) : nullptr;
  if (!made) return Error{Code::Type, "expected the pack of linearize or fwd as the first argument"};
  return PackOrigin{made->f, made->mask};
}

Result<FunctionId> lin_transform(TransformEnv& env, TypeId pack) {
  const Result<PackOrigin> origin = pack_origin(env, pack);
  if (!origin) return origin.error();
  const Result<Linearized> l = linear_part(env, pack, *origin);
  if (!l) return l.error();
  Seen seen;
  if (const FunctionId bwd = only_transposed(env.tables, l->split.linear, seen))
    return Error{Code::Unsupported, "[lin] forward mode through a function with a custom_vjp, whose backward is " +
                                        env.tables.debugs.function_name(bwd.debug, env.tables.strings) +
                                        ": give it a rule by `derivative` instead, which serves both modes"};
  const Body& body = env.tables.bodies[origin->f.body];
  Builder b(env.tables, env.options, l->jvp, "lin");
  const ValueId packed = b.param(pack);
  std::vector<ValueId> args;
  for (std::uint32_t k : positions(l->active)) args.push_back(b.param(body.types[k]));
  const std::vector<ValueId> residuals = unpack(b, packed);
  args.insert(args.begin(), residuals.begin(), residuals.end());
  if (b.failed()) return b.error();
  const std::vector<ValueId> tangents = inline_kin(b, l->split.linear, args, Kin::Sibling);
  std::vector<ValueId> results;
  for (std::size_t k = 0, at = 0; k < l->out.size() && !b.failed(); ++k) {
    const TypeId type = body.type(body.results[k]);
    if (l->out[k])
      results.push_back(tangents[at++]);
    else if (env.tables.types.is_differentiable(type))
      results.push_back(b.zeros(type));
  }
  return b.seal(results);
}

Result<FunctionId> bwd_transform(TransformEnv& env, TypeId pack, const DerivParams& p) {
  const Result<PackOrigin> origin = pack_origin(env, pack);
  if (!origin) return origin.error();
  const Result<Linearized> l = linear_part(env, pack, *origin);
  if (!l) return l.error();
  const Body& body = env.tables.bodies[origin->f.body];
  if (const Result<Mask> m = active_inputs(env.tables, body.param_types(), p.argnums, "bwd"); !m) return m.error();
  Builder b(env.tables, env.options, l->jvp, "bwd");
  const ValueId packed = b.param(pack);
  std::vector<ValueId> cts, results;
  for (std::size_t k = 0; k < body.results.size(); ++k) {
    const TypeId type = body.type(body.results[k]);
    const ValueId ct = env.tables.types.is_differentiable(type) ? b.param(type) : kNoValue;
    if (l->out[k]) cts.push_back(ct);
  }
  const std::vector<ValueId> residuals = unpack(b, packed);
  if (b.failed()) return b.error();
  const std::vector<ValueId> found =
      transpose_into(env, b, l->split.linear, linear_params(*l), residuals, cts, Kin::Sibling);
  for (std::int64_t a : p.argnums) {
    const auto k = static_cast<std::size_t>(a < 0 ? a + body.num_params : a);
    if (!l->active[k])
      return Error{Code::Type, "[bwd] argnums has " + std::to_string(a) + ", which that of fwd has not"};
    if (b.failed()) break;
    const ValueId v = found[count(slice(l->active, 0, k))];
    results.push_back(v != kNoValue ? v : b.zeros(body.types[k]));
  }
  return b.seal(results);
}

Result<FunctionId> aot_transform(TransformEnv& env, FunctionId f) {
  Tables& t = env.tables;
  const Body& body = t.bodies[f.body];
  DerivParams all;
  all.argnums.clear();
  for (std::uint32_t k : positions(all_inputs(t, f))) all.argnums.push_back(k);
  AttrId attrs = t.attrs.dict({{Key::callee, f}});
  if (!all.argnums.empty()) {
    const Result<FunctionId> fwd = fwd_transform(env, f, all);
    if (!fwd) return fwd.error();
    const Body& made = t.bodies[fwd->body];
    const Result<FunctionId> bwd = bwd_transform(env, made.type(made.results.back()), all);
    if (!bwd) return bwd.error();
    attrs = t.attrs.dict({{Key::callee, f}, {Key::fwd, *fwd}, {Key::bwd, *bwd}});
  }
  Builder b(t, env.options, f, "aot");
  std::vector<ValueId> args;
  for (TypeId type : body.param_types()) args.push_back(b.param(type));
  return b.seal(b.emit_all(Op::call, args, attrs));
}

}  // namespace tfvm
