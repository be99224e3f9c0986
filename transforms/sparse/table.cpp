#include "transforms/sparse/table.h"

#include "transforms/sparse/sparse.h"

namespace tfvm {

namespace {

using Types = std::span<const TypeId>;

DerivParams params_of(TransformEnv& env, AttrId attrs) {
  const Attr& a = env.tables.attrs[env.tables.attrs.get(attrs, Key::argnums)];
  DerivParams p;
  if (a.kind == AttrKind::Ints) p.argnums.assign(a.ints.begin(), a.ints.end());
  if (a.kind == AttrKind::Int) p.argnums.assign(1, a.i);
  return p;
}

Result<std::size_t> same_arity(TransformEnv&, CalleeRef& callee, AttrId, Types available) {
  return callee.arity(available);
}

// The pattern needs types alone: a function whose types are written in full takes no arguments, another one takes the
// inputs, and their values don't matter.
Result<std::size_t> pattern_arity(TransformEnv&, CalleeRef& callee, AttrId, Types available) {
  return callee.fixed_types() ? Result<std::size_t>(std::size_t{0}) : callee.arity(available);
}

Result<FunctionId> make_pattern(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const std::optional<std::vector<TypeId>> fixed = callee.fixed_types();
  const Result<FunctionId> f = callee.instantiate(fixed ? Types(*fixed) : args);
  return f ? jacobian_sparsity_transform(env, *f, params_of(env, attrs), args) : f;
}

using Transform = Result<FunctionId> (*)(TransformEnv&, FunctionId, const DerivParams&);

template <Transform transform>
Result<FunctionId> make_values(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<FunctionId> f = callee.instantiate(args);
  return f ? transform(env, *f, params_of(env, attrs)) : f;
}

std::optional<DType> no_hint(TransformEnv&, CalleeRef& callee, AttrId, Types args, std::size_t k) {
  return callee.hint(args, k);
}

}  // namespace

std::vector<TransformRow> sparse_rows() {
  const std::vector<AttrSpec> attrs = parse_attr_specs("argnums:any=[0]");
  return {{.name = "jacobian_sparsity",
           .attrs = attrs,
           .arity = pattern_arity,
           .make = make_pattern,
           .keeps_params = false,
           .hint = no_hint},
          {.name = "jac_sparse",
           .attrs = attrs,
           .arity = same_arity,
           .make = make_values<jac_sparse_transform>,
           .keeps_params = true},
          {.name = "hess_sparse",
           .attrs = attrs,
           .arity = same_arity,
           .make = make_values<hess_sparse_transform>,
           .keeps_params = true}};
}

}  // namespace tfvm
