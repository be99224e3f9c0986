#include "transforms/rows.h"

#include "transforms/compositions.h"
#include "transforms/full.h"
#include "transforms/functions.h"
#include "transforms/gradcheck.h"
#include "transforms/packs.h"
#include "transforms/simplify/contract.h"
#include "transforms/sparse/table.h"
#include "transforms/vmap/table.h"

namespace tfvm {

namespace {

using Types = std::span<const TypeId>;

DerivParams params_of(TransformEnv& env, AttrId attrs) {
  const AttrTable& at = env.tables.attrs;
  DerivParams p;
  const Attr& argnums = at[at.get(attrs, Key::argnums)];
  if (argnums.kind == AttrKind::Ints) p.argnums.assign(argnums.ints.begin(), argnums.ints.end());
  if (argnums.kind == AttrKind::Int) p.argnums.assign(1, argnums.i);
  p.has_aux = at.has(attrs, Key::has_aux) && at.get_bool(attrs, Key::has_aux);
  return p;
}

Result<std::size_t> same_arity(TransformEnv&, CalleeRef& callee, AttrId, Types available) {
  return callee.arity(available);
}

// The callee's share of the arguments; an error where there are too few.
Result<std::size_t> inner_arity(CalleeRef& callee, Types available) {
  Result<std::size_t> n = callee.arity(available);
  if (n && *n > available.size())
    return Error{Code::Type, callee.text() + " takes " + std::to_string(*n) + " arguments, got " +
                                 std::to_string(available.size())};
  return n;
}

// Places of the differentiable results that a transform takes cotangents for.
Result<std::vector<TypeId>> cotangent_types(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types primals) {
  const Result<FunctionId> f = callee.instantiate(primals);
  if (!f) return f.error();
  std::vector<TypeId> results = env.tables.bodies[f->body].result_types(), out;
  if (params_of(env, attrs).has_aux && results.size() > 1) results.resize(1);
  for (TypeId t : results)
    if (env.tables.types.is_differentiable(t)) out.push_back(t);
  return out;
}

// --- jvp

Result<std::size_t> jvp_arity(TransformEnv& env, CalleeRef& callee, AttrId, Types available) {
  const Result<std::size_t> n = inner_arity(callee, available);
  return n ? Result<std::size_t>(*n + count(differentiable(env.tables, available.first(*n)))) : n;
}

Result<FunctionId> make_jvp(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<std::size_t> n = inner_arity(callee, args);
  if (!n) return n.error();
  const Result<FunctionId> f = callee.instantiate(args.first(*n));
  if (!f) return f.error();
  return jvp_transform(env, *f, params_of(env, attrs).has_aux);
}

std::optional<DType> jvp_hint(TransformEnv& env, CalleeRef& callee, AttrId, Types args, std::size_t k) {
  const Result<std::size_t> n = callee.arity(args.first(k));  // an error: argument k is still one of the callee's
  if (!n || k < *n) return callee.hint(args, k);
  const std::vector<std::uint32_t> floats = positions(differentiable(env.tables, args.first(*n)));
  if (k - *n >= floats.size()) return std::nullopt;
  return env.tables.types.dtype(args[floats[k - *n]]);
}

// --- vjp

Result<std::size_t> vjp_arity(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types available) {
  const Result<std::size_t> n = inner_arity(callee, available);
  if (!n) return n;
  const Result<std::vector<TypeId>> cts = cotangent_types(env, callee, attrs, available.first(*n));
  return cts ? Result<std::size_t>(*n + cts->size()) : cts.error();
}

Result<FunctionId> make_vjp(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<std::size_t> n = inner_arity(callee, args);
  if (!n) return n.error();
  const Result<FunctionId> f = callee.instantiate(args.first(*n));
  if (!f) return f.error();
  return vjp_transform(env, *f, params_of(env, attrs).has_aux);
}

std::optional<DType> vjp_hint(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args, std::size_t k) {
  const Result<std::size_t> n = callee.arity(args.first(k));  // an error: argument k is still one of the callee's
  if (!n || k < *n) return callee.hint(args, k);
  const Result<std::vector<TypeId>> cts = cotangent_types(env, callee, attrs, args.first(*n));
  if (!cts || k - *n >= cts->size()) return std::nullopt;
  return env.tables.types.dtype((*cts)[k - *n]);
}

// --- hvp

Result<std::size_t> hvp_arity(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types available) {
  const Result<std::size_t> n = inner_arity(callee, available);
  return n ? Result<std::size_t>(*n + params_of(env, attrs).argnums.size()) : n;
}

Result<FunctionId> make_hvp(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<std::size_t> n = inner_arity(callee, args);
  if (!n) return n.error();
  const Result<FunctionId> f = callee.instantiate(args.first(*n));
  if (!f) return f.error();
  return hvp_transform(env, *f, params_of(env, attrs));
}

std::optional<DType> hvp_hint(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args, std::size_t k) {
  const Result<std::size_t> n = callee.arity(args.first(k));  // an error: argument k is still one of the callee's
  if (!n || k < *n) return callee.hint(args, k);
  const DerivParams p = params_of(env, attrs);
  if (k - *n >= p.argnums.size()) return std::nullopt;
  const std::int64_t a = p.argnums[k - *n];
  const std::int64_t at = a < 0 ? a + static_cast<std::int64_t>(*n) : a;
  if (at < 0 || at >= static_cast<std::int64_t>(*n)) return std::nullopt;
  return env.tables.types.dtype(args[static_cast<std::size_t>(at)]);
}

// --- transforms that keep the inputs

using Transform = Result<FunctionId> (*)(TransformEnv&, FunctionId, const DerivParams&);

template <Transform transform>
Result<FunctionId> make_same(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<FunctionId> f = callee.instantiate(args);
  if (!f) return f.error();
  return transform(env, *f, params_of(env, attrs));
}

Result<FunctionId> grad_only(TransformEnv& env, FunctionId f, const DerivParams& p) {
  return grad_transform(env, f, p, false);
}

Result<FunctionId> value_and_grad(TransformEnv& env, FunctionId f, const DerivParams& p) {
  return grad_transform(env, f, p, true);
}

// jacfwd, jacrev, hessian
template <Transform transform>
Result<FunctionId> make_jacobian(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<LaneAttrs> lanes = lane_attrs(env.tables, attrs, "jacobian");
  if (!lanes) return lanes.error();
  const Result<FunctionId> f = callee.instantiate(args);
  if (!f) return f.error();
  DerivParams p = params_of(env, attrs);
  p.chunk_size = lanes->chunk_size;
  p.randomness = lanes->randomness;
  return transform(env, *f, p);
}

template <Transform transform>
TransformRow jacobian_row(std::string_view name) {
  return {.name = name,
          .attrs = parse_attr_specs("argnums:any=[0] has_aux:bool=false chunk_size:int=none randomness:str=\"error\""),
          .arity = same_arity,
          .make = make_jacobian<transform>,
          .keeps_params = true};
}

Result<FunctionId> make_gradcheck(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<FunctionId> f = callee.instantiate(args);
  if (!f) return f.error();
  const AttrTable& at = env.tables.attrs;
  const auto number = [&](Key k) { return at.has(attrs, k) ? at[at.get(attrs, k)].f() : 0.0; };
  GradcheckParams p;
  p.all_inputs = !at.has(attrs, Key::argnums);
  if (!p.all_inputs) p.argnums = params_of(env, attrs).argnums;
  p.order = at.get_int(attrs, Key::order);
  p.eps = number(Key::eps), p.rtol = number(Key::rtol), p.atol = number(Key::atol);
  p.details = at.get_bool(attrs, Key::details);
  return gradcheck_transform(env, *f, p);
}

template <Transform transform>
TransformRow same_row(std::string_view name, std::string_view attrs) {
  return {.name = name,
          .attrs = parse_attr_specs(attrs),
          .arity = same_arity,
          .make = make_same<transform>,
          .keeps_params = true};
}

// --- lin, bwd: the first argument is a pack, which says all

Result<PackOrigin> origin_of(TransformEnv& env, CalleeRef& callee, std::string_view what, Types args) {
  Result<PackOrigin> origin = pack_origin(env, args.empty() ? kNone<TypeId> : args[0]);
  if (!origin) return Error{Code::Type, "[" + std::string(what) + "] " + origin.error().message};
  const auto functional = env.functional.find({&callee, false});  // of a function that writes
  if (!callee.has_made(origin->f) && (functional == env.functional.end() || !functional->second->has_made(origin->f)))
    return Error{Code::Type, "[" + std::string(what) + "] the pack comes from another function than " + callee.text()};
  return origin;
}

std::vector<TypeId> select_types(std::span<const TypeId> types, const Mask& flags) {
  std::vector<TypeId> out;
  for (std::uint32_t k : positions(flags)) out.push_back(types[k]);
  return out;
}

// The types behind the pack: tangents of lin, cotangents of bwd.
template <bool is_lin>
Result<std::vector<TypeId>> behind_pack(TransformEnv& env, CalleeRef& callee, Types args) {
  const Result<PackOrigin> origin = origin_of(env, callee, is_lin ? "lin" : "bwd", args);
  if (!origin) return origin.error();
  const Body& body = env.tables.bodies[origin->f.body];
  if (is_lin) return select_types(body.param_types(), origin->active);
  const std::vector<TypeId> results = body.result_types();
  return select_types(results, differentiable(env.tables, results));
}

template <bool is_lin>
Result<std::size_t> pack_arity(TransformEnv& env, CalleeRef& callee, AttrId, Types available) {
  const Result<std::vector<TypeId>> types = behind_pack<is_lin>(env, callee, available);
  return types ? Result<std::size_t>(types->size() + 1) : types.error();
}

template <bool is_lin>
Result<FunctionId> make_from_pack(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<std::vector<TypeId>> types = behind_pack<is_lin>(env, callee, args);
  if (!types) return types.error();
  for (std::size_t k = 0; k < types->size(); ++k)
    if (args[k + 1] != (*types)[k])
      return Error{Code::Type, std::string(is_lin ? "[lin] tangent " : "[bwd] cotangent ") + std::to_string(k) +
                                   ": expected " + env.tables.types.text((*types)[k]) + ", got " +
                                   env.tables.types.text(args[k + 1])};
  return is_lin ? lin_transform(env, args[0]) : bwd_transform(env, args[0], params_of(env, attrs));
}

template <bool is_lin>
std::optional<DType> pack_hint(TransformEnv& env, CalleeRef& callee, AttrId, Types args, std::size_t k) {
  const Result<std::vector<TypeId>> types = behind_pack<is_lin>(env, callee, args);
  if (!types || k == 0 || k > types->size() || !env.tables.types[(*types)[k - 1]].is_tensor()) return std::nullopt;
  return env.tables.types.dtype((*types)[k - 1]);
}

template <bool is_lin>
TransformRow pack_row(std::string_view name, std::string_view attrs) {
  return {.name = name,
          .attrs = parse_attr_specs(attrs),
          .arity = pack_arity<is_lin>,
          .make = make_from_pack<is_lin>,
          .keeps_params = false,
          .hint = pack_hint<is_lin>};
}

Result<FunctionId> linearize_only(TransformEnv& env, FunctionId f, const DerivParams&) {
  return linearize_transform(env, f);
}

Result<FunctionId> aot_only(TransformEnv& env, FunctionId f, const DerivParams&) { return aot_transform(env, f); }

Result<FunctionId> contract_only(TransformEnv& env, FunctionId f, const DerivParams&) { return contract(env, f); }

}  // namespace

TransformTable transform_table(TransformEnv& env) {
  constexpr std::string_view kArgs = "argnums:any=[0] has_aux:bool=false";
  TransformTable table;
  table.env = &env;
  table.rows.push_back({.name = "jvp",
                        .attrs = parse_attr_specs("has_aux:bool=false"),
                        .arity = jvp_arity,
                        .make = make_jvp,
                        .keeps_params = false,
                        .hint = jvp_hint});
  table.rows.push_back({.name = "vjp",
                        .attrs = parse_attr_specs("has_aux:bool=false"),
                        .arity = vjp_arity,
                        .make = make_vjp,
                        .keeps_params = false,
                        .hint = vjp_hint});
  table.rows.push_back({.name = "hvp",
                        .attrs = parse_attr_specs(kArgs),
                        .arity = hvp_arity,
                        .make = make_hvp,
                        .keeps_params = false,
                        .hint = hvp_hint});
  table.rows.push_back(same_row<grad_only>("grad", kArgs));
  table.rows.push_back(same_row<value_and_grad>("value_and_grad", kArgs));
  table.rows.push_back(jacobian_row<jacfwd_transform>("jacfwd"));
  table.rows.push_back(jacobian_row<jacrev_transform>("jacrev"));
  table.rows.push_back(jacobian_row<hessian_transform>("hessian"));
  table.rows.push_back(
      {.name = "gradcheck",
       .attrs = parse_attr_specs(
           "argnums:any=none order:int=2 eps:float=none rtol:float=none atol:float=none details:bool=false"),
       .arity = same_arity,
       .make = make_gradcheck,
       .keeps_params = true});
  table.rows.push_back(vmap_row());
  table.rows.push_back(same_row<linearize_only>("linearize", ""));
  table.rows.push_back(pack_row<true>("lin", ""));
  table.rows.push_back(same_row<fwd_transform>("fwd", "argnums:any=[0] partition:str=\"min_cut\""));
  table.rows.push_back(pack_row<false>("bwd", "argnums:any=[0] partition:str=\"min_cut\""));
  table.rows.push_back(same_row<aot_only>("aot", "argnums:any=[0] partition:str=\"min_cut\""));
  table.rows.push_back(same_row<contract_only>("contract", ""));
  table.rows.push_back(functionalize_row());
  table.make_of_full = make_of_full;
  table.functionalize = functionalize_transform;
  for (TransformRow& row : sparse_rows()) table.rows.push_back(std::move(row));
  return table;
}

}  // namespace tfvm
