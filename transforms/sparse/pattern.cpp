// jacobian_sparsity.
#include "transforms/sparse/dependence.h"
#include "transforms/sparse/sparse.h"

namespace tfvm {

Result<SparsePattern> jacobian_pattern(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Body& body = env.tables.bodies[f.body];
  const Result<Mask> active = active_inputs(env.tables, body.param_types(), p.argnums, "jacobian_sparsity");
  if (!active) return active.error();
  Dependence d(env);
  std::vector<Fact> args(body.num_params);
  SparsePattern out;
  for (std::int64_t a : p.argnums) {
    const auto k = static_cast<std::size_t>(a < 0 ? a + body.num_params : a);
    std::vector<SetId> one(d.elements(body.types[k]));
    if (args[k].sets) return Error{Code::Type, "[jacobian_sparsity] argnums names an input twice"};
    for (SetId& s : one) {
      const auto at = static_cast<std::uint32_t>(out.columns++);
      s = d.sets().of(at, at + 1);
    }
    args[k] = d.of(std::move(one));
  }
  const std::vector<Fact> results = d.run(f, args);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const TypeId type = body.type(body.results[k]);
    if (!env.tables.types[type].is_tensor() || !env.tables.types.is_differentiable(type)) continue;
    for (std::size_t i = 0; i < d.elements(type); ++i) {
      if (results[k].sets)
        for (const Interval& in : d.sets()[(*results[k].sets)[i]])
          for (std::uint32_t j = in.begin; j < in.end; ++j) out.indices.push_back(j);
      out.indptr.push_back(out.nonzeros());
    }
  }
  out.rows = static_cast<std::int64_t>(out.indptr.size()) - 1;
  return out;
}

Result<FunctionId> jacobian_sparsity_transform(TransformEnv& env, FunctionId f, const DerivParams& p,
                                               std::span<const TypeId> params) {
  const Result<SparsePattern> pattern = jacobian_pattern(env, f, p);
  if (!pattern) return pattern.error();
  Tables& t = env.tables;
  Builder b(t, env.options, f, "jacobian_sparsity");
  for (TypeId type : params) b.param(type);
  const auto list = [&](const std::vector<std::int64_t>& v) {
    const TypeId type = t.types.tensor(DType::I64, {static_cast<std::int64_t>(v.size())});
    return b.constant(t.consts.intern(type, std::as_bytes(std::span(v))));
  };
  return b.seal({list(pattern->indptr), list(pattern->indices)});
}

}  // namespace tfvm
