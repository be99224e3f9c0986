// Calls whose results are defined by an equation (bytecode/own_rules.h). The derivative is that of the equation at the
// solution, so it costs one linear system however many steps the solver took (implicit function theorem; Griewank and
// Walther, Evaluating Derivatives, chapter 15).
#include <algorithm>

#include "transforms/compositions.h"
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

using Values = std::vector<ValueId>;

// An equation f(c…, y…): how many c lead, and how many y there are.
struct Equation {
  FunctionId f;
  std::size_t lead, unknowns;

  Equation(const Tables& t, FunctionId fn) : f(fn) {
    unknowns = t.bodies[f.body].results.size();
    lead = t.bodies[f.body].num_params - unknowns;
  }
};

Values emit_call(JvpCtx& c, FunctionId f, std::span<const ValueId> args) {
  return c.b.emit_all(Op::call, args, c.tables().attrs.dict({{Key::callee, f}}));
}

// (c…, y…) at the solution.
Values at_solution(JvpCtx& c, const Equation& e) {
  Values args(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(e.lead));
  args.insert(args.end(), c.y.begin(), c.y.begin() + static_cast<std::ptrdiff_t>(e.unknowns));
  return args;
}

// ∂f/∂c · dc at the solution, for each of its results; kNoValue where it depends on no c that has a tangent.
Values change(JvpCtx& c, const Equation& e) {
  Values out(e.unknowns, kNoValue);
  Mask active = slice(c.active(), 0, e.lead);
  if (c.b.failed() || !any(active)) return out;
  Values args = at_solution(c, e);
  for (std::size_t k = 0; k < e.lead; ++k)
    if (active[k]) args.push_back(c.t[k]);
  active.resize(e.lead + e.unknowns, 0);
  const Result<Jvp> j = jvp(c.env, e.f, active, {}, c.mode);
  if (!j) return forward(c.b, j.error()), out;
  const Values results = emit_call(c, j->f, args);
  for (std::size_t k = 0, at = e.unknowns; k < e.unknowns && !c.b.failed(); ++k)
    if (j->out[k]) out[k] = results[at++];
  return out;
}

std::int64_t elements(const Builder& b, ValueId v) { return b.tables().types.elements(b.type(v)); }

ValueId reshape(Builder& b, ValueId v, std::initializer_list<std::int64_t> shape) {
  return b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}});
}

ValueId concat(Builder& b, const Values& parts, std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return b.emit(Op::concat, parts, b.tables().attrs.dict({{Key::axis, axis}}));
}

// ∂f/∂y at the solution as one matrix, the elements of all y behind each other.
ValueId jacobian(JvpCtx& c, const Equation& e, const Values& args) {
  DerivParams by;
  by.argnums.clear();
  for (std::size_t k = 0; k < e.unknowns; ++k) by.argnums.push_back(static_cast<std::int64_t>(e.lead + k));
  Result<FunctionId> f = jacfwd_transform(c.env, e.f, by);
  if (!f && c.mode == JvpMode::Linearize)  // an equation that only reverse mode goes through
    if (Result<FunctionId> reverse = jacrev_transform(c.env, e.f, by)) f = reverse;
  if (!f) return forward(c.b, f.error()), kNoValue;
  const Values blocks = emit_call(c, *f, args);
  Values rows;
  for (std::size_t i = 0; i < e.unknowns && !c.b.failed(); ++i) {
    Values row;
    for (std::size_t j = 0; j < e.unknowns; ++j)
      row.push_back(reshape(c.b, blocks[i * e.unknowns + j], {elements(c.b, c.y[i]), elements(c.b, c.y[j])}));
    rows.push_back(concat(c.b, row, 1));
  }
  return c.b.failed() ? kNoValue : concat(c.b, rows, 0);
}

// v with ∂f/∂y · v = r, where the function brings no tangent_solve: a dense system.
Values solve_dense(JvpCtx& c, const Equation& e, const Values& args, const Values& r) {
  Builder& b = c.b;
  for (std::size_t k = 1; k < e.unknowns && !b.failed(); ++k)
    if (b.dtype(c.y[k]) != b.dtype(c.y[0]))
      b.fail(Code::Type, "[custom_root] a solution of several dtypes needs a tangent_solve");
  Values right;
  const ValueId a = jacobian(c, e, args);
  for (ValueId v : r)
    if (!b.failed()) right.push_back(reshape(b, v, {elements(b, v)}));
  if (b.failed()) return {};
  const ValueId all = concat(b, right, 0);
  const TypeId types[] = {b.type(a), b.type(all)};
  const Result<FunctionId> f = c.env.derivatives->instantiate("implicit_solve", types);
  if (!f) return forward(b, f.error()), Values{};
  const ValueId args_of_solve[] = {a, all};
  const Values found = emit_call(c, *f, args_of_solve);
  Values out;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < e.unknowns && !b.failed(); ++k) {
    const std::int64_t start[] = {at}, limit[] = {at += elements(b, c.y[k])};
    const ValueId part = b.emit(Op::slice, {found[0]}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}});
    out.push_back(b.emit(Op::reshape, {part}, {{Key::shape, b.dims(c.y[k])}}));
  }
  return out;
}

bool all_zero(const Values& vs) {
  return std::ranges::all_of(vs, [](ValueId v) { return v == kNoValue; });
}

}  // namespace

// f(c…, y…) = 0, so ∂f/∂y·dy = −∂f/∂c·dc. Where the solver starts, and what else it takes, has no derivative.
void jvp_root(JvpCtx& c, FunctionId f) {
  const Equation e(c.tables(), f);
  c.y = c.b.emit_all(Op::call, c.x, c.in.attrs);
  Values r = change(c, e);
  if (c.b.failed() || all_zero(r)) return;
  for (std::size_t k = 0; k < e.unknowns; ++k)
    r[k] = r[k] == kNoValue ? c.b.zeros(c.b.type(c.y[k])) : c.b.emit(Op::neg, {r[k]});
  Values args = at_solution(c, e), found;
  if (const FunctionId solve = c.func(Key::tangent_solve)) {
    args.insert(args.end(), r.begin(), r.end());
    found = emit_call(c, solve, args);
  } else {
    found = solve_dense(c, e, args, r);
  }
  for (std::size_t k = 0; k < e.unknowns && !c.b.failed(); ++k) c.dy[k] = found[k];
}

// matvec(c…, y…) = b, so dy solves the same system for db − ∂matvec/∂c·dc.
void jvp_linear_solve(JvpCtx& c, FunctionId matvec) {
  const Equation e(c.tables(), matvec);
  c.y = c.b.emit_all(Op::call, c.x, c.in.attrs);
  Values r = change(c, e);
  for (std::size_t k = 0; k < e.unknowns && !c.b.failed(); ++k) {
    const ValueId db = c.t[e.lead + k];
    r[k] = r[k] == kNoValue ? db : db == kNoValue ? c.b.emit(Op::neg, {r[k]}) : c.b.emit(Op::sub, {db, r[k]});
  }
  if (c.b.failed() || all_zero(r)) return;
  Values args(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(e.lead));
  for (std::size_t k = 0; k < e.unknowns; ++k)
    args.push_back(r[k] != kNoValue || c.b.failed() ? r[k] : c.b.zeros(c.b.type(c.x[e.lead + k])));
  const Values found = c.b.emit_all(Op::call, args, c.in.attrs);
  for (std::size_t k = 0; k < e.unknowns && !c.b.failed(); ++k) c.dy[k] = found[k];
}

}  // namespace tfvm
