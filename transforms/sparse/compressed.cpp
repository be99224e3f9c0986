// jac_sparse and hess_sparse: the elements taken out of the diagonals of a stencil, or of what comes back from colors
// in one batch of directions.
#include <algorithm>

#include "transforms/jvp/jvp.h"
#include "transforms/reverse.h"
#include "transforms/sparse/sparse.h"
#include "transforms/sparse/stencil.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

ValueId list_constant(Builder& b, const List& v) {
  Tables& t = b.tables();
  const TypeId type = t.types.tensor(DType::I64, {static_cast<std::int64_t>(v.size())});
  return b.constant(t.consts.intern(type, std::as_bytes(std::span(v))));
}

// [colors, dims…]: direction c is the sum of the unit vectors of color c. `color` are those of this value's elements.
ValueId seeds(Builder& b, TypeId type, const List& color, std::int64_t colors) {
  const TypeTable& types = b.tables().types;
  const std::int64_t square[] = {colors, static_cast<std::int64_t>(color.size())};
  const ValueId number = b.emit(Op::iota, {}, {{Key::shape, Ints(square)}, {Key::axis, 0}});
  const ValueId same =
      b.emit(Op::eq, {number, b.emit(Op::broadcast_to, {list_constant(b, color)}, {{Key::shape, Ints(square)}})});
  List shape{colors};
  shape.insert(shape.end(), types.dims(type).begin(), types.dims(type).end());
  return b.emit(Op::reshape, {b.emit(Op::cast, {same}, {{Key::dtype, types.dtype(type)}})},
                {{Key::shape, Ints(shape)}});
}

// Values [colors, dims…] side by side as one [colors · elements].
ValueId side_by_side(Builder& b, std::span<const ValueId> values, std::int64_t colors) {
  std::vector<ValueId> flat;
  for (ValueId v : values) {
    if (b.failed()) return kNoValue;
    const std::int64_t shape[] = {colors, colors ? b.tables().types.elements(b.type(v)) / colors : 0};
    flat.push_back(b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}}));
  }
  const ValueId all = flat.size() == 1 ? flat[0] : b.emit(Op::concat, flat, b.tables().attrs.dict({{Key::axis, 1}}));
  if (b.failed()) return kNoValue;
  const std::int64_t n[] = {b.tables().types.elements(b.type(all))};
  return b.emit(Op::reshape, {all}, {{Key::shape, Ints(n)}});
}

// The inputs in argnums and the float outputs, and their types.
struct Sides {
  std::vector<std::size_t> in, out;
  Mask active;
  DType dtype = DType::F64;
};

Result<Sides> sides(const Tables& t, const Body& body, const DerivParams& p, std::string_view what) {
  Sides s;
  const Result<Mask> active = active_inputs(t, body.param_types(), p.argnums, what);
  if (!active) return active.error();
  s.active = *active;
  std::vector<DType> dtypes;
  for (std::int64_t a : p.argnums) {
    s.in.push_back(static_cast<std::size_t>(a < 0 ? a + body.num_params : a));
    dtypes.push_back(t.types.dtype(body.types[s.in.back()]));
  }
  for (std::size_t k = 0; k < body.results.size(); ++k) {
    const TypeId type = body.type(body.results[k]);
    if (!t.types[type].is_tensor() || !t.types.is_differentiable(type)) continue;
    s.out.push_back(k);
    dtypes.push_back(t.types.dtype(body.type(body.results[k])));
  }
  for (DType d : dtypes)
    if (d != dtypes[0])
      return Error{Code::Type, "[" + std::string(what) + "] needs one dtype, got " + std::string(name(dtypes[0])) +
                                   " and " + std::string(name(d))};
  if (!dtypes.empty()) s.dtype = dtypes[0];
  return s;
}

List part(const List& color, std::size_t& at, std::int64_t n) {
  const auto from = color.begin() + static_cast<std::ptrdiff_t>(at);
  at += static_cast<std::size_t>(n);
  return List(from, from + static_cast<std::ptrdiff_t>(n));
}

// All directions of `f` (primals…, directions…) at once: results from `first` on, one [colors, dims…] each.
std::vector<ValueId> batched(TransformEnv& env, Builder& b, FunctionId f, std::span<const ValueId> primals,
                             std::span<const ValueId> directions, std::int64_t colors, std::size_t first) {
  Mask in(primals.size(), 0), force(env.tables.body(f).results.size(), 0);
  in.resize(in.size() + directions.size(), 1);
  std::fill(force.begin() + static_cast<std::ptrdiff_t>(first), force.end(), 1);
  const Result<Batched> r = batch(env, f, in, Axis{colors}, force);
  if (!r) return forward(b, r.error()), std::vector<ValueId>{};
  std::vector<ValueId> operands(primals.begin(), primals.end());
  operands.insert(operands.end(), directions.begin(), directions.end());
  const std::vector<ValueId> all = b.emit_all(Op::call, operands, env.tables.attrs.dict({{Key::callee, r->f}}));
  if (b.failed()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

// J · directions by columns: [colors, rows] flat.
ValueId push(TransformEnv& env, Builder& b, FunctionId f, const Sides& s, std::span<const ValueId> args,
             const Coloring& c) {
  const Body& body = env.tables.bodies[f.body];
  Mask force(body.results.size(), 0);
  for (std::size_t k : s.out) force[k] = 1;
  const Result<Jvp> j = jvp(env, f, s.active, force);
  if (!j) return forward(b, j.error()), kNoValue;
  std::vector<ValueId> by_place(body.num_params, kNoValue), directions;
  std::size_t at = 0;
  for (std::size_t k : s.in)
    by_place[k] = seeds(b, body.types[k], part(c.color, at, env.tables.types.elements(body.types[k])), c.colors);
  for (ValueId v : by_place)
    if (v != kNoValue) directions.push_back(v);
  return side_by_side(b, batched(env, b, j->f, args, directions, c.colors, body.results.size()), c.colors);
}

// (primals…, cotangents of the float outputs…) -> cotangents of the inputs in argnums, in that order.
Result<FunctionId> pullback(TransformEnv& env, FunctionId f, const Sides& s) {
  const Body& body = env.tables.bodies[f.body];
  const Result<Linearized> l = linearize(env, f, s.active);
  if (!l) return l.error();
  Reverse r(env, *l, "jac_sparse");
  Builder& b = r.builder();
  r.make_params();
  std::vector<ValueId> cts(body.results.size(), kNoValue), found;
  for (std::size_t k : s.out) {
    const ValueId ct = b.param(body.type(body.results[k]));
    if (l->out[k]) cts[k] = ct;
  }
  r.known_part();
  const std::vector<ValueId> grads = r.backward(cts);
  for (std::size_t k : s.in) found.push_back(grads[k] != kNoValue || b.failed() ? grads[k] : b.zeros(body.types[k]));
  return b.seal(found);
}

// directions · J by rows: [colors, columns] flat.
ValueId pull(TransformEnv& env, Builder& b, FunctionId f, const Sides& s, std::span<const ValueId> args,
             const Coloring& c) {
  const Body& body = env.tables.bodies[f.body];
  const Result<FunctionId> back = pullback(env, f, s);
  if (!back) return forward(b, back.error()), kNoValue;
  std::vector<ValueId> directions;
  std::size_t at = 0;
  for (std::size_t k : s.out) {
    const TypeId type = body.type(body.results[k]);
    directions.push_back(seeds(b, type, part(c.color, at, env.tables.types.elements(type)), c.colors));
  }
  return side_by_side(b, batched(env, b, *back, args, directions, c.colors, 0), c.colors);
}

struct Plan {
  Coloring coloring;
  List places;  // of the elements in the compressed matrix
  bool by_rows = false, is_symmetric = false;
};

Plan plan_jacobian(const SparsePattern& p) {
  const SparsePattern t = transposed(p);
  const std::int64_t least_columns = longest_row(p), least_rows = longest_row(t);
  Plan plan;
  plan.by_rows = least_rows < least_columns;
  plan.coloring = color_columns(plan.by_rows ? t : p);
  if ((plan.by_rows ? least_columns : least_rows) < plan.coloring.colors) {
    Coloring other = color_columns(plan.by_rows ? p : t);
    if (other.colors < plan.coloring.colors) {
      plan.coloring = std::move(other);
      plan.by_rows = !plan.by_rows;
    }
  }
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t e = p.indptr[static_cast<std::size_t>(i)]; e < p.indptr[static_cast<std::size_t>(i) + 1]; ++e) {
      const std::int64_t j = p.indices[static_cast<std::size_t>(e)];
      const std::int64_t color = plan.coloring.color[static_cast<std::size_t>(plan.by_rows ? i : j)];
      plan.places.push_back(plan.by_rows ? color * p.columns + j : color * p.rows + i);
    }
  return plan;
}

// Where the blocks of the Jacobian begin: rows of each output, columns of each input.
std::vector<std::int64_t> starts(const Tables& t, std::span<const std::size_t> list, std::size_t count, auto type) {
  List out(count, 0);
  std::int64_t at = 0;
  for (std::size_t k : list) {
    out[k] = at;
    at += t.types.elements(type(k));
  }
  return out;
}

// For each element of the pattern, its place in the diagonals end to end; `zero` where none has it. Of a symmetric one
// both elements of a pair are where one of them is.
List places_in_diagonals(const Tables& t, std::span<const Diagonal> diagonals, const Sides& s, const Body& body,
                         const SparsePattern& p, bool is_symmetric, std::int64_t zero) {
  const auto in_type = [&](std::size_t k) { return body.types[k]; };
  const auto out_type = [&](std::size_t k) { return body.type(body.results[k]); };
  const List first_row = starts(t, s.out, body.results.size(), out_type);
  const List first_column = starts(t, s.in, body.num_params, in_type);
  List places(p.indices.size(), zero);
  const auto set = [&](std::int64_t row, std::int64_t column, std::int64_t place) {
    const auto first = p.indices.begin() + p.indptr[static_cast<std::size_t>(row)];
    const auto last = p.indices.begin() + p.indptr[static_cast<std::size_t>(row) + 1];
    const auto found = std::lower_bound(first, last, column);
    if (found != last && *found == column) places[static_cast<std::size_t>(found - p.indices.begin())] = place;
  };
  std::int64_t place = 0;
  for (const Diagonal& d : diagonals) {
    const std::int64_t width = t.types.elements(in_type(d.input));
    const Dims result = t.types.dims(out_type(d.result)), input = t.types.dims(in_type(d.input));
    for (std::int64_t at : places_in_matrix(d, result, input, -1)) {
      const std::int64_t now = place++;
      if (at < 0) continue;
      const std::int64_t row = first_row[d.result] + at / width, column = first_column[d.input] + at % width;
      set(row, column, now);
      if (is_symmetric) set(column, row, now);
    }
  }
  return places;
}

// Without those of a symmetric Jacobian that are others' mirror images.
void keep_one_of_two(std::vector<Diagonal>& list, const Sides& s) {
  const auto is_image = [&](const Diagonal& d) {
    List back = d.offset;
    for (std::int64_t& o : back) o = -o;
    const auto row = std::ranges::find(s.out, d.result) - s.out.begin();
    const auto column = std::ranges::find(s.in, d.input) - s.in.begin();
    return (column < row || (column == row && d.offset < back)) && std::ranges::any_of(list, [&](const Diagonal& e) {
             return e.offset == back && e.result == s.out[static_cast<std::size_t>(column)] &&
                    e.input == s.in[static_cast<std::size_t>(row)];
           });
  };
  std::vector<Diagonal> kept;
  std::ranges::copy_if(list, std::back_inserter(kept), [&](const Diagonal& d) { return !is_image(d); });
  list = std::move(kept);
}

// The elements of the pattern, where the function is a stencil; else kNoValue.
ValueId by_diagonals(TransformEnv& env, Builder& b, FunctionId f, const Sides& s, std::span<const ValueId> args,
                     const SparsePattern& p, const Plan& plan) {
  std::optional<Stencil> st = stencil(env, f, s.active, static_cast<std::size_t>(2 * plan.coloring.colors));
  if (!st || st->diagonals.empty()) return kNoValue;
  append(b, *st, args);
  if (plan.is_symmetric) keep_one_of_two(st->diagonals, s);
  const ValueId all = end_to_end(b, st->diagonals);
  if (b.failed()) return kNoValue;
  const std::int64_t n = b.dims(all)[0], one[] = {1};
  const List places =
      places_in_diagonals(env.tables, st->diagonals, s, env.tables.bodies[f.body], p, plan.is_symmetric, n);
  std::vector<ValueId> table{all};
  if (std::ranges::find(places, n) != places.end()) table.push_back(b.zeros(env.tables.types.tensor(s.dtype, one)));
  const ValueId from = b.emit(Op::concat, table, env.tables.attrs.dict({{Key::axis, 0}}));
  return b.emit(Op::take, {from, list_constant(b, places)}, {{Key::axis, 0}, {Key::mode, "clip"}});
}

Result<FunctionId> compressed(TransformEnv& env, FunctionId f, const DerivParams& p, std::string_view what,
                              const SparsePattern& pattern, const Plan& plan) {
  Tables& t = env.tables;
  const Body& body = t.bodies[f.body];
  const Result<Sides> s = sides(t, body, p, what);
  if (!s) return s.error();
  Builder b(t, env.options, f, what);
  std::vector<ValueId> args;
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    args.push_back(b.param(body.types[k]));
    b.name_from(args[k], body.param(k));
  }
  const auto nonzeros = static_cast<std::int64_t>(plan.places.size());
  ValueId values = kNoValue;
  if (nonzeros == 0)
    values = b.zeros(t.types.tensor(s->dtype, {0}));
  else
    values = by_diagonals(env, b, f, *s, args, pattern, plan);
  const bool is_stencil = values != kNoValue && nonzeros > 0;
  if (values == kNoValue && !b.failed()) {
    const ValueId all = (plan.by_rows ? pull : push)(env, b, f, *s, args, plan.coloring);
    values = b.failed() ? kNoValue
                        : b.emit(Op::take, {all, list_constant(b, plan.places)}, {{Key::axis, 0}, {Key::mode, "clip"}});
  }
  const Result<FunctionId> made = b.seal({values});
  if (!made) return made;
  PassResult stats{*made, {}, {}, {plan.coloring.colors, nonzeros, plan.by_rows}};
  if (!env.memo.find(kSparsePasses, *made, {})) env.memo.add(kSparsePasses, *made, {}, std::move(stats));
  env.report("sparse", std::string(what) + " of " + t.debugs.function_name(f.debug, t.strings) + ": " +
                           std::to_string(nonzeros) + " elements in " + std::to_string(plan.coloring.colors) +
                           (is_stencil     ? " forward passes, as diagonals"
                            : plan.by_rows ? " reverse passes"
                                           : " forward passes"));
  return made;
}

}  // namespace

Result<FunctionId> jac_sparse_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Result<SparsePattern> pattern = jacobian_pattern(env, f, p);
  if (!pattern) return pattern.error();
  return compressed(env, f, p, "jac_sparse", *pattern, plan_jacobian(*pattern));
}

Result<FunctionId> hess_sparse_transform(TransformEnv& env, FunctionId f, const DerivParams& p) {
  const Result<FunctionId> g = grad_transform(env, f, {p.argnums, false}, false);
  if (!g) return g.error();
  const Result<SparsePattern> pattern = jacobian_pattern(env, *g, p);
  if (!pattern) return pattern.error();
  Plan plan;
  plan.is_symmetric = true;
  plan.coloring = star_coloring(*pattern);
  plan.places = star_places(*pattern, plan.coloring);
  return compressed(env, *g, p, "hess_sparse", *pattern, plan);
}

}  // namespace tfvm
