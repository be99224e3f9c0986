// call, cond and switch.
#include "bytecode/own_rules.h"
#include "transforms/split/split.h"
#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

// A call that only its @bwd can transpose: (residuals…, tangents…) -> tangents; @bwd takes (residuals…, cotangents…).
void by_own_rule(TransposeCtx& c, FunctionId bwd) {
  const std::vector<TypeId> results = c.tables().bodies[bwd.body].result_types();
  const std::size_t first = c.in.operands.size() - results.size();
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < first; ++k) operands.push_back(c.known(k));
  for (std::uint32_t k = 0; k < c.in.num_results && !c.b.failed(); ++k)
    operands.push_back(c.ct(k) != kNoValue ? c.ct(k) : c.b.zeros(c.body.type(c.in.result(k))));
  const std::vector<ValueId> cts = c.b.emit_all(Op::call, operands, c.tables().attrs.dict({{Key::callee, bwd}}));
  for (std::size_t k = 0; k < cts.size(); ++k) c.add(first + k, cts[k]);
}

// A callee with a part that is not linear (a checkpoint, or a function with an own rule): its known part runs again
// here. The barrier ties that to the first cotangent, else it could be merged with the forward pass; without one
// (`tied` false) the result can be differentiated by what is known. `force` as in transpose().
Result<Transposed> recompute(TransposeCtx& c, FunctionId callee, const Mask& linear, const Mask& cts,
                             const Mask& force = {}, bool tied = true) {
  std::vector<std::int64_t> key = memo_key({&linear, &cts, &force});
  key.push_back(tied);
  if (const PassResult* r = c.env.memo.find("recompute", callee, key)) return Transposed{r->f, r->mask};
  const Result<Split> s = split(c.env, callee, linear);
  if (!s) return s.error();
  const Body& body = c.tables().bodies[callee.body];
  Builder b(c.tables(), c.env.options, callee, "recompute");
  std::vector<ValueId> args, known, ct(body.results.size(), kNoValue);
  for (std::uint32_t k = 0; k < body.num_params; ++k)
    if (!linear[k]) args.push_back(b.param(body.types[k]));
  const std::size_t n = args.size();
  for (std::size_t k = 0; k < ct.size(); ++k)
    if (cts[k]) args.push_back(b.param(body.type(body.results[k])));
  const std::vector<ValueId> held = tied ? b.emit_all(Op::optimization_barrier, args, c.attrs().empty()) : args;
  if (b.failed()) return b.error();
  known.assign(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t k = 0, at = n; k < ct.size(); ++k)
    if (cts[k]) ct[k] = held[at++];
  const std::vector<ValueId> first = inline_kin(b, s->known, known, Kin::Sibling);
  std::vector<ValueId> residuals, ct_linear;
  std::size_t made = ct.size() - count(s->unknown);
  for (std::int64_t r : s->residuals)
    residuals.push_back(b.failed() ? kNoValue : r >= 0 ? known[static_cast<std::size_t>(r)] : first[made++]);
  for (std::size_t k = 0; k < ct.size(); ++k)
    if (s->unknown[k]) ct_linear.push_back(ct[k]);
  Mask mask(residuals.size(), 0);
  mask.resize(residuals.size() + count(linear), 1);
  const std::vector<ValueId> out = transpose_into(c.env, b, s->linear, mask, residuals, ct_linear, Kin::Sibling);
  Transposed t;
  std::vector<ValueId> results;
  for (std::uint32_t k : positions(linear)) {
    const ValueId v = out[t.in.size()];
    t.in.push_back(v != kNoValue || (t.in.size() < force.size() && force[t.in.size()]));
    if (t.in.back()) results.push_back(v != kNoValue || b.failed() ? v : b.zeros(body.types[k]));
  }
  const Result<FunctionId> f = b.seal(results);
  if (!f) return f.error();
  t.f = *f;
  c.env.memo.add("recompute", callee, key, {t.f, t.in, {}, {}});
  return t;
}

// A solver of matvec(c…, y…) = b… becomes that of matvecᵀ(c…, v…) = ct….
void by_transpose_solve(TransposeCtx& c, FunctionId matvec) {
  AttrTable& at = c.tables().attrs;
  const Body& equation = c.tables().bodies[matvec.body];
  const std::size_t unknowns = equation.results.size(), lead = equation.num_params - unknowns;
  const FunctionId callee = c.func(Key::callee), solve = c.func(Key::transpose_solve);
  if (any(slice(c.linear_operands(), 0, lead))) return c.refuse();
  if (!any(slice(c.ct_mask(), 0, unknowns))) return;
  if (!solve) {
    c.b.fail(Code::Unsupported, "reverse mode through " +
                                    c.tables().debugs.function_name(callee.debug, c.tables().strings) +
                                    ", which has a custom_linear_solve: give it a transpose_solve, or symmetric=true");
    return;
  }
  FunctionId transposed = matvec;  // symmetric, where one function solves both
  if (solve != callee) {
    Mask linear(lead, 0);
    linear.resize(lead + unknowns, 1);
    const Mask all(unknowns, 1);
    const Result<Transposed> t = recompute(c, matvec, linear, all, all, false);
    if (!t) return forward(c.b, t.error());
    transposed = t->f;
  }
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < lead; ++k) operands.push_back(c.known(k));
  for (std::uint32_t k = 0; k < unknowns && !c.b.failed(); ++k)
    operands.push_back(c.ct(k) != kNoValue ? c.ct(k) : c.b.zeros(c.body.type(c.in.result(k))));
  const std::vector<ValueId> found = c.b.emit_all(
      Op::call, operands, at.dict({{Key::callee, solve}, {Key::matvec, transposed}, {Key::transpose_solve, callee}}));
  for (std::size_t k = 0; k < unknowns && !c.b.failed(); ++k) c.add(lead + k, found[k]);
}

std::vector<FunctionId> branch_functions(TransposeCtx& c) {
  const AttrTable& at = c.attrs();
  if (c.in.op == Op::cond) return {c.func(Key::then), c.func(Key::else_)};
  std::vector<FunctionId> out;
  for (AttrId a : at[at.get(c.in.attrs, Key::branches)].items) out.push_back(at[a].func);
  return out;
}

AttrId branch_attrs(TransposeCtx& c, std::span<const FunctionId> f) {
  AttrTable& at = c.tables().attrs;
  if (c.in.op == Op::cond) return at.dict({{Key::then, f[0]}, {Key::else_, f[1]}});
  std::vector<AttrId> items;
  for (FunctionId g : f) items.push_back(at.of(g));
  return at.dict({{Key::branches, at.list(items)}});
}

}  // namespace

void transpose_call(TransposeCtx& c) {
  AttrTable& at = c.tables().attrs;
  if (const FunctionId bwd = c.func(Key::bwd); bwd && !c.func(Key::fwd)) return by_own_rule(c, bwd);
  if (const FunctionId matvec = c.func(Key::matvec)) return by_transpose_solve(c, matvec);
  const FunctionId callee = c.func(Key::callee);
  const bool whole = at.has(c.in.attrs, Key::policy) || has_own_rule(at, c.in.attrs);
  const Mask linear = c.linear_operands(), cts = c.ct_mask();
  const Result<Transposed> t = whole ? recompute(c, callee, linear, cts) : transpose(c.env, callee, linear, cts);
  if (!t) return forward(c.b, t.error());
  std::vector<ValueId> operands = c.known_operands();
  const std::vector<ValueId> active = c.active_cts();
  operands.insert(operands.end(), active.begin(), active.end());
  const AttrId attrs = at.with(at.dict({{Key::callee, t->f}}), Key::policy, at.get(c.in.attrs, Key::policy));
  c.add_all(0, c.b.emit_all(Op::call, operands, attrs), t->in);
}

void transpose_pack(TransposeCtx& c) {
  const std::vector<ValueId> items = unpack(c.b, c.ct());
  for (std::size_t k = 0; k < items.size(); ++k) c.add(k, items[k]);
}

void transpose_unpack(TransposeCtx& c) {
  std::vector<ValueId> items;
  for (std::uint32_t k = 0; k < c.in.num_results && !c.b.failed(); ++k)
    items.push_back(c.ct(k) != kNoValue ? c.ct(k) : c.b.zeros(c.body.type(c.in.result(k))));
  c.add(0, pack_as(c.b, c.type(0), items));
}

void transpose_branches(TransposeCtx& c) {
  if (c.is_linear(0)) return c.refuse();
  const Mask all = c.linear_operands(), cts = c.ct_mask();
  const Mask linear = slice(all, 1, all.size() - 1);
  Mask in(count(linear), 0);
  std::vector<FunctionId> done;
  for (int round = 0; round < 2; ++round) {
    done.clear();
    for (FunctionId f : branch_functions(c)) {
      const Result<Transposed> t = transpose(c.env, f, linear, cts, in);
      if (!t) return forward(c.b, t.error());
      in = t->in;
      done.push_back(t->f);
    }
  }
  std::vector<ValueId> operands{c.known(0)};
  const std::vector<ValueId> known = c.known_operands(1), active = c.active_cts();
  operands.insert(operands.end(), known.begin(), known.end());
  operands.insert(operands.end(), active.begin(), active.end());
  c.add_all(1, c.b.emit_all(c.in.op, operands, branch_attrs(c, done)), in);
}

}  // namespace tfvm
