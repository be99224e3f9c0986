// Jacobians: the linear map batched over a basis. The primal part does not depend on the basis, so it runs once.
#include "transforms/compositions.h"
#include "transforms/jvp/jvp.h"
#include "transforms/reverse.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

std::size_t place(std::int64_t argnum, std::size_t n) {
  return static_cast<std::size_t>(argnum < 0 ? argnum + static_cast<std::int64_t>(n) : argnum);
}

List joined(Dims a, Dims b) {
  List out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// The unit vectors of a type: [n, dims…], n its number of elements.
ValueId basis(Builder& b, TypeId type) {
  const TypeTable& types = b.tables().types;
  const std::int64_t n = types.elements(type);
  const std::int64_t square[] = {n, n};
  const auto numbers = [&](std::int64_t axis) {
    return b.emit(Op::iota, {}, {{Key::shape, Ints(square)}, {Key::axis, axis}});
  };
  const ValueId same = b.emit(Op::eq, {numbers(0), numbers(1)});
  const ValueId eye = b.emit(Op::cast, {same}, {{Key::dtype, types.dtype(type)}});
  return b.emit(Op::reshape, {eye}, {{Key::shape, Ints(joined({&n, 1}, types.dims(type)))}});
}

// [in elements, out dims…] -> out dims + in dims
ValueId in_last(Builder& b, ValueId v, Dims in) {
  if (b.failed()) return kNoValue;
  List perm;
  for (std::int64_t d = 1; d < b.rank(v); ++d) perm.push_back(d);
  perm.push_back(0);
  const List shape = joined(b.dims(v).subspan(1), in);
  return b.emit(Op::reshape, {b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}})}, {{Key::shape, Ints(shape)}});
}

// Results that have a Jacobian.
std::vector<std::uint32_t> rows(const Tables& t, const Body& body, bool has_aux) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t k = 0; k < body.results.size() && (k == 0 || !has_aux); ++k)
    if (t.types.is_differentiable(body.type(body.results[k]))) out.push_back(k);
  return out;
}

// All results of a jvp in one input; the tangents have become Jacobians, out dims + in dims.
Result<std::vector<ValueId>> push_basis(TransformEnv& env, Builder& b, const Jvp& j, std::span<const ValueId> args,
                                        TypeId in) {
  const std::int64_t n = env.tables.types.elements(in);
  std::vector<ValueId> operands(args.begin(), args.end()), results;
  if (n == 1) {
    operands.push_back(b.splat(in, 1));
    results = inline_kin(b, j.f, operands, Kin::Sibling);
    for (std::size_t k = j.out.size(); k < results.size() && !b.failed(); ++k) {
      const List shape = joined(b.dims(results[k]), env.tables.types.dims(in));
      results[k] = b.emit(Op::reshape, {results[k]}, {{Key::shape, Ints(shape)}});
    }
  } else {
    Mask batched(args.size(), 0), force(j.out.size(), 0);
    batched.push_back(1);
    force.resize(force.size() + count(j.out), 1);
    const Result<Batched> r = batch(env, j.f, batched, Axis{n}, force);
    if (!r) return r.error();
    operands.push_back(basis(b, in));
    results = b.emit_all(Op::call, operands, env.tables.attrs.dict({{Key::callee, r->f}}));
    for (std::size_t k = j.out.size(); k < results.size(); ++k)
      results[k] = in_last(b, results[k], env.tables.types.dims(in));
  }
  if (b.failed()) return b.error();
  return results;
}

// Cotangents of all active inputs for result `o`, [out elements, in dims…] each; for one element, [in dims…].
Result<std::vector<ValueId>> pull_basis(TransformEnv& env, Reverse& r, const Linearized& l, std::uint32_t o,
                                        TypeId out) {
  Builder& b = r.builder();
  std::vector<ValueId> grads;
  if (env.tables.types.elements(out) == 1) {
    std::vector<ValueId> cts(l.results, kNoValue);
    cts[o] = b.splat(out, 1);
    const std::vector<ValueId> all = r.backward(cts);
    for (std::uint32_t k : positions(l.active))
      grads.push_back(all[k] != kNoValue || b.failed() ? all[k] : b.zeros(b.type(r.params()[k])));
  } else {
    const Result<FunctionId> back = r.backward_function(o);
    if (!back) return back.error();
    Mask batched(r.residuals().size(), 0);
    batched.push_back(1);
    const Result<Batched> v =
        batch(env, *back, batched, Axis{env.tables.types.elements(out)}, Mask(count(l.active), 1));
    if (!v) return v.error();
    std::vector<ValueId> operands(r.residuals().begin(), r.residuals().end());
    operands.push_back(basis(b, out));
    grads = b.emit_all(Op::call, operands, env.tables.attrs.dict({{Key::callee, v->f}}));
  }
  if (b.failed()) return b.error();
  return grads;
}

ValueId zero_jacobian(Builder& b, TypeId out, TypeId in) {
  const TypeTable& types = b.tables().types;
  return b.zeros(b.tables().types.tensor(types.dtype(out), joined(types.dims(out), types.dims(in))));
}

}  // namespace

Result<FunctionId> jacfwd_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  Tables& t = env.tables;
  const Body& body = t.bodies[f.body];
  const Result<Mask> active = active_inputs(t, body.param_types(), p.argnums, "jacfwd");
  if (!active) return active.error();
  Builder b(t, env.options, f, "jacfwd");
  std::vector<ValueId> args, outputs;
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    args.push_back(b.param(body.types[k]));
    b.name_from(args[k], body.param(k));
  }
  const std::vector<std::uint32_t> outs = rows(t, body, p.has_aux);
  std::vector<std::vector<ValueId>> columns;  // per argnum, per output
  for (std::int64_t a : p.argnums) {
    const std::size_t k = place(a, body.num_params);
    const TypeId in = body.types[k];
    Mask one(body.num_params, 0);
    one[k] = 1;
    const Result<Jvp> j = jvp(env, f, one);
    if (!j) return j.error();
    const Result<std::vector<ValueId>> all = push_basis(env, b, *j, args, in);
    if (!all) return all.error();
    const std::vector<ValueId>& results = *all;
    if (outputs.empty()) outputs.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(j->out.size()));
    std::vector<ValueId>& column = columns.emplace_back();
    for (std::uint32_t o : outs) {
      const std::size_t at = body.results.size() + count(slice(j->out, 0, o));
      const TypeId out = body.type(body.results[o]);
      column.push_back(j->out[o] ? results[at] : zero_jacobian(b, out, in));
    }
  }
  std::vector<ValueId> results;
  for (std::size_t o = 0; o < outs.size(); ++o)
    for (const auto& column : columns) results.push_back(column[o]);
  if (p.has_aux) results.insert(results.end(), outputs.begin() + 1, outputs.end());
  return b.seal(results);
}

Result<FunctionId> jacrev_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  Tables& t = env.tables;
  const Body& body = t.bodies[f.body];
  const Result<Mask> active = active_inputs(t, body.param_types(), p.argnums, "jacrev");
  if (!active) return active.error();
  const Result<Linearized> l = linearize(env, f, *active);
  if (!l) return l.error();
  Reverse r(env, *l, "jacrev");
  Builder& b = r.builder();
  r.make_params();
  r.known_part();
  std::vector<ValueId> results;
  for (std::uint32_t o : rows(t, body, p.has_aux)) {
    const TypeId out = body.type(body.results[o]);
    std::vector<ValueId> grads;  // per active input
    if (l->out[o]) {
      Result<std::vector<ValueId>> found = pull_basis(env, r, *l, o, out);
      if (!found) return found.error();
      grads = std::move(*found);
    }
    for (std::int64_t a : p.argnums) {
      const std::size_t k = place(a, body.num_params);
      const TypeId in = body.types[k];
      const List shape = joined(t.types.dims(out), t.types.dims(in));
      results.push_back(l->out[o]
                            ? b.emit(Op::reshape, {grads[count(slice(*active, 0, k))]}, {{Key::shape, Ints(shape)}})
                            : zero_jacobian(b, out, in));
    }
  }
  if (p.has_aux) results.insert(results.end(), r.outputs().begin() + 1, r.outputs().end());
  return b.seal(results);
}

Result<FunctionId> hessian_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Result<FunctionId> j = jacrev_transform(env, f, {p.argnums, false});
  if (!j) return j.error();
  return jacfwd_transform(env, *j, {p.argnums, false});
}

}  // namespace tfvm
