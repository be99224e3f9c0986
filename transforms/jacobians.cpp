// Jacobians: the linear map batched over a basis. The primal part does not depend on the basis, so it runs once.
#include "transforms/basis.h"
#include "transforms/compositions.h"
#include "transforms/jvp/jvp.h"
#include "transforms/reverse.h"
#include "transforms/sparse/stencil.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

// A stencil: directions for each diagonal, below which they are pushed; diagonals that a value has at most; columns.
constexpr std::int64_t kLeastOfStencil = 8, kMostDiagonals = 16, kMostColumns = std::int64_t{1} << 30;

std::size_t place(std::int64_t argnum, std::size_t n) {
  return static_cast<std::size_t>(argnum < 0 ? argnum + static_cast<std::int64_t>(n) : argnum);
}

// Results that have a Jacobian.
std::vector<std::uint32_t> rows(const Tables& t, const Body& body, const DerivParams& p) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t k = 0; k < body.results.size() && (k < p.leading || !p.has_aux); ++k)
    if (t.types.is_differentiable(body.type(body.results[k]))) out.push_back(k);
  return out;
}

// A function of one lane for all unit vectors, which are the last of `operands`; the results in `force` have lanes.
// `out` tells which have.
Result<std::vector<ValueId>> for_basis(TransformEnv& env, Builder& b, FunctionId f, std::span<const ValueId> operands,
                                       const Mask& force, const DerivParams& p, Mask& out) {
  Mask batched(operands.size() - 1, 0);
  batched.push_back(1);
  if (b.failed()) return b.error();
  const std::int64_t n = b.dims(operands.back())[0];
  const Axis axis{n, kNone<StrId>, p.randomness};
  if (p.chunk_size && *p.chunk_size < n)
    return batch_in_chunks(env, b, f, batched, axis, *p.chunk_size, force, operands, out);
  const Result<Batched> r = batch(env, f, batched, axis, force);
  if (!r) return r.error();
  out = r->out;
  return b.emit_all(Op::call, operands, env.tables.attrs.dict({{Key::callee, r->f}}));
}

ValueId first_lane(Builder& b, ValueId v) {
  if (b.failed()) return kNoValue;
  const List dims(b.dims(v).begin(), b.dims(v).end());
  List start(dims.size(), 0), limit = dims;
  limit[0] = 1;
  const ValueId lane = b.emit(Op::slice, {v}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}});
  return b.emit(Op::reshape, {lane}, {{Key::shape, Ints(std::span(dims).subspan(1))}});
}

// All results of a jvp in one input; the tangents have become Jacobians, out dims + in dims.
Result<std::vector<ValueId>> push_basis(TransformEnv& env, Builder& b, const Jvp& j, std::span<const ValueId> args,
                                        TypeId in, const DerivParams& p) {
  const std::int64_t n = env.tables.types.elements(in);
  std::vector<ValueId> operands(args.begin(), args.end()), results;
  if (n == 1 && (p.randomness == Randomness::Same || !lane_use(env, j.f).draws)) {
    operands.push_back(b.splat(in, 1));
    results = inline_kin(b, j.f, operands, Kin::Sibling);
    for (std::size_t k = j.out.size(); k < results.size() && !b.failed(); ++k) {
      const List shape = joined_dims(b.dims(results[k]), env.tables.types.dims(in));
      results[k] = b.emit(Op::reshape, {results[k]}, {{Key::shape, Ints(shape)}});
    }
  } else {
    Mask force(j.out.size(), 0), out;
    force.resize(force.size() + count(j.out), 1);
    operands.push_back(basis(b, in));
    Result<std::vector<ValueId>> lanes = for_basis(env, b, j.f, operands, force, p, out);
    if (!lanes) return lanes.error();
    results = std::move(*lanes);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (k >= j.out.size())
        results[k] = in_last(b, results[k], env.tables.types.dims(in));
      else if (out[k] && n > 0)
        results[k] = first_lane(b, results[k]);
    }
  }
  if (b.failed()) return b.error();
  return results;
}

ValueId zero_jacobian(Builder& b, TypeId out, TypeId in) {
  const TypeTable& types = b.tables().types;
  return b.zeros(b.tables().types.tensor(types.dtype(out), joined_dims(types.dims(out), types.dims(in))));
}

// The Jacobian of a result by an input, from its diagonals.
ValueId from_diagonals(Builder& b, std::span<const Diagonal> diagonals, TypeId out, TypeId in) {
  Tables& t = b.tables();
  const std::int64_t square[] = {t.types.elements(out), t.types.elements(in)}, standing[] = {square[0], 1};
  const auto along_rows = [&](ValueId v) {
    v = b.emit(Op::reshape, {v}, {{Key::shape, Ints(standing)}});
    return b.emit(Op::broadcast_to, {v}, {{Key::shape, Ints(square)}});
  };
  const ValueId column = b.emit(Op::iota, {}, {{Key::shape, Ints(square)}, {Key::axis, 1}, {Key::dtype, DType::I32}});
  ValueId all = b.zeros(t.types.tensor(t.types.dtype(out), square));
  for (const Diagonal& d : diagonals) {
    std::vector<std::int32_t> columns;
    for (std::int64_t at : places_in_matrix(d, t.types.dims(out), t.types.dims(in), -1))
      columns.push_back(static_cast<std::int32_t>(at < 0 ? -1 : at % square[1]));
    const ConstId list = t.consts.intern(t.types.tensor(DType::I32, {square, 1}), std::as_bytes(std::span(columns)));
    const ValueId is_here = b.emit(Op::eq, {column, along_rows(b.constant(list))});
    all = b.emit(Op::select, {is_here, along_rows(d.value), all});
  }
  return b.emit(Op::reshape, {all}, {{Key::shape, Ints(joined_dims(t.types.dims(out), t.types.dims(in)))}});
}

// Where the function is a stencil by input k with few diagonals: its results, then what jvp in all directions would
// give: the Jacobian of each of `outs`.
std::optional<std::vector<ValueId>> stencil_column(TransformEnv& env, Builder& b, FunctionId f,
                                                   std::span<const ValueId> args, std::size_t k,
                                                   std::span<const std::uint32_t> outs) {
  const Body& body = env.tables.bodies[f.body];
  const std::int64_t n = env.tables.types.elements(body.types[k]);
  const std::int64_t most = std::min(n / kLeastOfStencil, kMostDiagonals);
  if (most == 0 || n > kMostColumns) return std::nullopt;
  Mask one(body.num_params, 0);
  one[k] = 1;
  std::optional<Stencil> s = stencil(env, f, one, static_cast<std::size_t>(most));
  if (!s) return std::nullopt;
  std::vector<ValueId> results = append(b, *s, args);
  const std::span<const Diagonal> all = s->diagonals;
  for (std::uint32_t o : outs) {
    const auto of = std::ranges::equal_range(all, std::size_t{o}, {}, &Diagonal::result);
    const TypeId out = body.type(body.results[o]);
    results.push_back(of.empty() ? zero_jacobian(b, out, body.types[k]) : from_diagonals(b, of, out, body.types[k]));
  }
  return results;
}

// Cotangents of all active inputs for result `o`, [out elements, in dims…] each; for one element, [in dims…].
Result<std::vector<ValueId>> pull_basis(TransformEnv& env, Reverse& r, const Linearized& l, std::uint32_t o, TypeId out,
                                        const DerivParams& p) {
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
    std::vector<ValueId> operands(r.residuals().begin(), r.residuals().end());
    operands.push_back(basis(b, out));
    DerivParams once = p;  // what the backward pass draws, it draws again
    once.randomness = Randomness::Same;
    Mask has_lanes;
    Result<std::vector<ValueId>> lanes = for_basis(env, b, *back, operands, Mask(count(l.active), 1), once, has_lanes);
    if (!lanes) return lanes.error();
    grads = std::move(*lanes);
  }
  if (b.failed()) return b.error();
  return grads;
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
  const std::vector<std::uint32_t> outs = rows(t, body, p);
  std::vector<std::vector<ValueId>> columns;  // per argnum, per output
  for (std::int64_t a : p.argnums) {
    const std::size_t k = place(a, body.num_params);
    const TypeId in = body.types[k];
    if (p.randomness == Randomness::Same || !lane_use(env, f).draws) {
      if (const auto all = stencil_column(env, b, f, args, k, outs)) {
        const auto first = all->begin() + static_cast<std::ptrdiff_t>(body.results.size());
        if (outputs.empty()) outputs.assign(all->begin(), first);
        columns.emplace_back(first, all->end());
        continue;
      }
      if (b.failed()) return b.error();
    }
    Mask one(body.num_params, 0);
    one[k] = 1;
    const Result<Jvp> j = jvp(env, f, one);
    if (!j) return j.error();
    const Result<std::vector<ValueId>> all = push_basis(env, b, *j, args, in, p);
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
  if (p.has_aux) results.insert(results.end(), outputs.begin() + static_cast<std::ptrdiff_t>(p.leading), outputs.end());
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
  for (std::uint32_t o : rows(t, body, p)) {
    const TypeId out = body.type(body.results[o]);
    std::vector<ValueId> grads;  // per active input
    if (l->out[o]) {
      Result<std::vector<ValueId>> found = pull_basis(env, r, *l, o, out, p);
      if (!found) return found.error();
      grads = std::move(*found);
    }
    for (std::int64_t a : p.argnums) {
      const std::size_t k = place(a, body.num_params);
      const TypeId in = body.types[k];
      const List shape = joined_dims(t.types.dims(out), t.types.dims(in));
      results.push_back(l->out[o]
                            ? b.emit(Op::reshape, {grads[count(slice(*active, 0, k))]}, {{Key::shape, Ints(shape)}})
                            : zero_jacobian(b, out, in));
    }
  }
  if (p.has_aux)
    results.insert(results.end(), r.outputs().begin() + static_cast<std::ptrdiff_t>(p.leading), r.outputs().end());
  return b.seal(results);
}

Result<FunctionId> hessian_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Result<FunctionId> j = jacrev_transform(env, f, p);
  if (!j) return j.error();
  DerivParams outer = p;
  outer.leading = p.argnums.size();
  return jacfwd_transform(env, *j, outer);
}

}  // namespace tfvm
