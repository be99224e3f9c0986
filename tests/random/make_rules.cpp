// Own rules of random functions, right by construction: what the transforms give for the function itself.
#include "tests/random/make_program.h"
#include "transforms/compositions.h"

namespace tfvm::testing {

namespace {

// A function of these parameters, whose results are some of those of a call of `f` and some parameters.
template <class Choose>
FunctionId around(TransformEnv& env, FunctionId f, std::span<const TypeId> params, std::size_t skip_from,
                  std::size_t skip, Choose choose) {
  Builder b(env.tables, env.options, "rule");
  std::vector<ValueId> v, args;
  for (TypeId type : params) v.push_back(b.param(type));
  for (std::size_t k = 0; k < v.size(); ++k)
    if (k < skip_from || k >= skip_from + skip) args.push_back(v[k]);
  const std::vector<ValueId> r = b.emit_all(Op::call, args, env.tables.attrs.dict({{Key::callee, f}}));
  const Result<FunctionId> made = b.seal(choose(v, r));
  return made ? *made : FunctionId{};
}

}  // namespace

AttrId ProgramMaker::with_rule(AttrId attrs, FunctionId f) {
  TransformEnv& env = *options_.own_rules;
  const Result<FunctionId> j = jvp_transform(env, f, false), r = vjp_transform(env, f, false);
  if (!j || !r) return attrs;
  const auto tail = [](const std::vector<ValueId>& v, std::size_t from) {
    return std::vector<ValueId>(v.begin() + static_cast<std::ptrdiff_t>(from), v.end());
  };
  const std::size_t n = t_.bodies[f.body].num_params, m = t_.bodies[f.body].results.size();
  const auto params = t_.bodies[f.body].param_types();
  const std::vector<TypeId> in(params.begin(), params.end()), out = t_.bodies[f.body].result_types();
  switch (below(options_.custom_vjp ? 3 : 2)) {
    case 0:
      return t_.attrs.with(attrs, Key::jvp, t_.attrs.of(*j));
    case 1: {  // (primals…, outputs…, tangents…) -> output tangents
      std::vector<TypeId> types = in;
      types.insert(types.end(), out.begin(), out.end());
      const auto tangents = t_.bodies[j->body].param_types().subspan(n);
      types.insert(types.end(), tangents.begin(), tangents.end());
      const FunctionId rule = around(env, *j, types, n, m, [&](auto&, auto& results) { return tail(results, m); });
      return t_.attrs.with(attrs, Key::derivative, t_.attrs.of(rule));
    }
    default: {  // the residuals are the primals
      const FunctionId fwd = around(env, f, in, n, 0, [](auto& v, auto& results) {
        std::vector<ValueId> all = results;
        all.insert(all.end(), v.begin(), v.end());
        return all;
      });
      const auto types = t_.bodies[r->body].param_types();
      const std::vector<TypeId> all(types.begin(), types.end());
      const FunctionId bwd =
          around(env, *r, all, all.size(), 0, [&](auto&, auto& results) { return tail(results, m); });
      return t_.attrs.with(t_.attrs.with(attrs, Key::fwd, t_.attrs.of(fwd)), Key::bwd, t_.attrs.of(bwd));
    }
  }
}

}  // namespace tfvm::testing
