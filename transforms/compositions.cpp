#include "transforms/compositions.h"

#include "transforms/jvp/jvp.h"
#include "transforms/reverse.h"

namespace tfvm {

namespace {

ValueId or_zeros(Builder& b, ValueId v, TypeId type) { return v != kNoValue || b.failed() ? v : b.zeros(type); }

// Which results are differentiated: the first, or all.
Mask wanted_results(const Tables& t, FunctionId f, bool has_aux) {
  Mask m = differentiable(t, t.bodies[f.body].result_types());
  for (std::size_t k = 1; k < m.size(); ++k) m[k] = m[k] && !has_aux;
  return m;
}

Status check_scalar(const Tables& t, FunctionId f, bool has_aux, std::string_view what) {
  const std::vector<TypeId> results = t.bodies[f.body].result_types();
  if (results.empty() || (results.size() != 1 && !has_aux))
    return Error{Code::Type, "[" + std::string(what) + "] needs a function of exactly one output, got " +
                                 std::to_string(results.size()) + "; has_aux=true takes further outputs along"};
  if (t.types[results[0]].is_tensor() && t.types.is_differentiable(results[0]) && t.types.rank(results[0]) == 0)
    return ok();
  return Error{Code::Type, "[" + std::string(what) + "] needs a scalar float output, got " + t.types.text(results[0])};
}

}  // namespace

Result<Mask> active_inputs(const Tables& t, std::span<const TypeId> params, std::span<const std::int64_t> argnums,
                           std::string_view what) {
  Mask m(params.size(), 0);
  const auto n = static_cast<std::int64_t>(params.size());
  for (std::int64_t a : argnums) {
    const std::int64_t k = a < 0 ? a + n : a;
    if (k < 0 || k >= n)
      return Error{Code::Type, "[" + std::string(what) + "] argnums has " + std::to_string(a) +
                                   ", but the function takes " + std::to_string(n) + " inputs"};
    const TypeId type = params[static_cast<std::size_t>(k)];
    if (!t.types.is_differentiable(type))
      return Error{Code::Type, "[" + std::string(what) + "] input " + std::to_string(k) + " is " + t.types.text(type) +
                                   ", which has no derivative; only float inputs can be in argnums"};
    m[static_cast<std::size_t>(k)] = 1;
  }
  return m;
}

Result<FunctionId> jvp_transform(TransformEnv& env, FunctionId f, bool has_aux) {
  const Body& body = env.tables.bodies[f.body];
  const Mask out = wanted_results(env.tables, f, has_aux);
  const Result<Jvp> j = jvp(env, f, differentiable(env.tables, body.param_types()), out);
  if (!j) return j.error();
  // jvp gives (outputs…, tangents…), of aux outputs too where they depend on inputs.
  std::vector<std::uint32_t> params, results, tangents;
  for (std::uint32_t k = 0; k < env.tables.bodies[j->f.body].num_params; ++k) params.push_back(k);
  auto next = static_cast<std::uint32_t>(out.size());
  for (std::uint32_t k = 0; k < out.size(); ++k) {
    if (out[k]) tangents.push_back(next);
    next += j->out[k];
    results.push_back(k);
  }
  results.insert(has_aux && !results.empty() ? results.begin() + 1 : results.end(), tangents.begin(), tangents.end());
  if (!has_aux && j->out == out) return j->f;
  return rearrange(env, j->f, params, results);
}

Result<FunctionId> vjp_transform(TransformEnv& env, FunctionId f, bool has_aux) {
  const Body& body = env.tables.bodies[f.body];
  const Mask out = wanted_results(env.tables, f, has_aux);
  const Result<Linearized> l = linearize(env, f, differentiable(env.tables, body.param_types()));
  if (!l) return l.error();
  Reverse r(env, *l, "vjp");
  Builder& b = r.builder();
  r.make_params();
  std::vector<ValueId> cts(out.size(), kNoValue);
  for (std::size_t k = 0; k < out.size(); ++k)
    if (out[k]) cts[k] = b.param(body.type(body.results[k]));
  r.known_part();
  const std::vector<ValueId> grads = r.backward(cts);
  std::vector<ValueId> results(r.outputs().begin(), r.outputs().end()), found;
  for (std::uint32_t k = 0; k < body.num_params; ++k)
    if (l->active[k]) found.push_back(or_zeros(b, grads[k], body.types[k]));
  results.insert(has_aux && !results.empty() ? results.begin() + 1 : results.end(), found.begin(), found.end());
  return b.seal(results);
}

Result<FunctionId> grad_transform(TransformEnv& env, FunctionId f, const DerivParams& p, bool with_value) {
  const std::string_view what = with_value ? "value_and_grad" : "grad";
  const Body& body = env.tables.bodies[f.body];
  if (const Status s = check_scalar(env.tables, f, p.has_aux, what); !s) return s.error();
  const Result<Mask> active = active_inputs(env.tables, body.param_types(), p.argnums, what);
  if (!active) return active.error();
  const Result<Linearized> l = linearize(env, f, *active);
  if (!l) return l.error();
  Reverse r(env, *l, what);
  Builder& b = r.builder();
  r.make_params();
  r.known_part();
  std::vector<ValueId> cts(body.results.size(), kNoValue), results, found;
  cts[0] = b.splat(body.type(body.results[0]), 1);
  const std::vector<ValueId> grads = r.backward(cts);
  for (std::int64_t a : p.argnums) {
    const auto k = static_cast<std::size_t>(a < 0 ? a + body.num_params : a);
    found.push_back(or_zeros(b, grads[k], body.types[k]));
  }
  results.assign(r.outputs().begin() + (with_value ? 0 : 1), r.outputs().end());
  results.insert(with_value ? results.end() : results.begin(), found.begin(), found.end());
  return b.seal(results);
}

Result<FunctionId> hvp_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Result<FunctionId> g = grad_transform(env, f, {p.argnums, p.has_aux}, true);
  if (!g) return g.error();
  const Body& body = env.tables.bodies[g->body];
  const Result<Mask> active = active_inputs(env.tables, body.param_types(), p.argnums, "hvp");
  if (!active) return active.error();
  const std::size_t values = body.results.size() - p.argnums.size();  // and aux; gradients follow
  Mask out(values, 0);
  out.resize(body.results.size(), 1);
  const Result<Jvp> j = jvp(env, *g, *active, out);
  if (!j) return j.error();
  // The vectors come in the order of argnums, tangents in that of the inputs.
  const std::uint32_t n = body.num_params;
  std::vector<std::uint32_t> params, results;
  for (std::uint32_t k = 0; k < n; ++k) params.push_back(k);
  for (std::uint32_t k = 0; k < values; ++k) results.push_back(k);
  for (std::int64_t a : p.argnums) {
    const auto k = static_cast<std::size_t>(a < 0 ? a + n : a);
    params.push_back(n + static_cast<std::uint32_t>(count(slice(*active, 0, k))));
  }
  const auto first = static_cast<std::uint32_t>(body.results.size() + count(slice(j->out, 0, values)));
  for (std::uint32_t k = 0; k < p.argnums.size(); ++k) results.push_back(first + k);
  if (params.size() != n + count(*active)) return Error{Code::Type, "[hvp] argnums names an input twice"};
  return rearrange(env, j->f, params, results);
}

}  // namespace tfvm
