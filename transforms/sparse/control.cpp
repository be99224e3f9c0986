// Calls, branches and loops.
#include <algorithm>

#include "transforms/functions.h"
#include "transforms/sparse/dependence.h"

namespace tfvm {

namespace {

constexpr std::size_t kMaxFollowed = std::size_t{1} << 18;  // instructions of a scan that is followed step by step
constexpr int kMaxRounds = 32;                              // of a fixpoint, before all carries get all

using Facts = std::vector<Fact>;

Facts join(Dependence& d, Facts a, const Facts& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    const ConstId known = a[k].known == b[k].known ? a[k].known : kNone<ConstId>;
    a[k] = d.unite(a[k], b[k]);
    a[k].known = known;
  }
  return a;
}

bool same(const Facts& a, const Facts& b) {
  return std::ranges::equal(a, b, [](const Fact& p, const Fact& q) {
    return p.known == q.known && (p.sets == q.sets || (p.sets && q.sets && *p.sets == *q.sets));
  });
}

void put(DepCtx& c, const Facts& results, std::size_t from = 0) {
  for (std::size_t k = 0; k < c.y.size() && from + k < results.size(); ++k) c.y[k] = results[from + k];
}

// An own rule is linear in its tangents: they carry the sets, primals and outputs are only values.
void by_rule(DepCtx& c, FunctionId rule, bool takes_outputs) {
  const Body& callee = c.t().body(c.func(Key::callee));
  const Mask has = differentiable(c.t(), callee.result_types());
  Facts args;
  for (const Fact& f : c.x) args.push_back({nullptr, f.known});
  if (takes_outputs) args.resize(args.size() + c.in.num_results);
  for (std::size_t k = 0; k < c.x.size(); ++k)
    if (c.t().types.is_differentiable(c.type(k))) args.push_back({c.x[k].sets, kNone<ConstId>});
  if (args.size() != c.t().body(rule).num_params) return;  // jvp tells of it
  const Facts tangents = c.d.run(rule, args);
  std::size_t at = takes_outputs ? 0 : has.size();
  for (std::size_t k = 0; k < has.size(); ++k)
    if (has[k] && at < tangents.size()) c.y[k].sets = tangents[at++].sets;
}

void depend_call(DepCtx& c) {
  if (const FunctionId rule = c.func(Key::jvp)) return by_rule(c, rule, false);
  if (const FunctionId rule = c.func(Key::derivative)) return by_rule(c, rule, true);
  const FunctionId root = c.func(Key::root), equation = root ? root : c.func(Key::matvec);
  if (equation) {  // each unknown depends on all that the equation depends on
    const Body& f = c.t().body(equation);
    const std::size_t unknowns = f.results.size(), used = root ? f.num_params - unknowns : c.x.size();
    SetId s = kEmptySet;
    for (std::size_t k = 0; k < used; ++k) s = c.d.sets().unite(s, c.d.all(c.x[k]));
    for (std::uint32_t k = 0; k < unknowns; ++k) c.y[k] = c.d.uniform(c.body.type(c.in.result(k)), s);
    return;
  }
  if (!c.func(Key::bwd)) return put(c, c.d.run(c.func(Key::callee), c.x));
  SetId s = kEmptySet;  // a custom_vjp may do anything
  for (const Fact& f : c.x) s = c.d.sets().unite(s, c.d.all(f));
  for (std::uint32_t k = 0; k < c.in.num_results; ++k) c.y[k] = c.d.uniform(c.body.type(c.in.result(k)), s);
}

void depend_branches(DepCtx& c, std::span<const FunctionId> branches, bool is_predicate) {
  if (c.x[0].is_known()) {
    const std::int64_t i = c.t().consts.as_int(c.x[0].known);
    const auto last = static_cast<std::int64_t>(branches.size()) - 1;
    const std::int64_t taken = is_predicate ? (i ? 0 : 1) : std::clamp<std::int64_t>(i, 0, last);
    return put(c, c.d.run(branches[static_cast<std::size_t>(taken)], c.x.subspan(1)));
  }
  Facts all;
  for (FunctionId f : branches) {
    Facts r = c.d.run(f, c.x.subspan(1));
    all = all.empty() ? std::move(r) : join(c.d, std::move(all), r);
  }
  put(c, all);
}

// Repeats `body` on (consts…, carries…, xs…) until the carries are stable; gives all its results.
Facts fixpoint(DepCtx& c, FunctionId body, const Facts& consts, Facts& carries, const Facts& xs) {
  for (int round = 0;; ++round) {
    Facts args = consts;
    args.insert(args.end(), carries.begin(), carries.end());
    args.insert(args.end(), xs.begin(), xs.end());
    Facts results = c.d.run(body, args);
    const Facts next =
        join(c.d, carries, Facts(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carries.size())));
    if (same(next, carries)) return results;
    carries = next;
    if (round < kMaxRounds) continue;
    SetId s = kEmptySet;
    for (const Fact& f : args) s = c.d.sets().unite(s, c.d.all(f));
    for (std::size_t k = 0; k < carries.size(); ++k)
      carries[k] = c.d.unite(carries[k], c.d.uniform(c.body.type(c.in.result(static_cast<std::uint32_t>(k))), s));
  }
}

// Step t of a scanned input.
Fact step_of(DepCtx& c, std::size_t operand, TypeId slice, std::size_t t) {
  const std::size_t n = c.d.elements(slice);
  if (!c.t().types[slice].is_tensor()) return {c.x[operand].sets, kNone<ConstId>};  // of an array of tapes
  Fact out;
  if (c.x[operand].sets) {
    const auto from = c.sets(operand).begin() + static_cast<std::ptrdiff_t>(t * n);
    out = c.d.of(std::vector<SetId>(from, from + static_cast<std::ptrdiff_t>(n)));
  }
  if (c.x[operand].is_known()) {
    const auto bytes = static_cast<std::size_t>(c.t().types.bytes(slice));
    out.known = c.t().consts.intern(slice, c.t().consts[c.x[operand].known].bytes.subspan(t * bytes, bytes));
  }
  return out;
}

// Step t of a stacked output; an array of tapes counts as one element.
void stack(DepCtx& c, const Fact& step, std::size_t t, std::vector<SetId>& out) {
  if (!step.sets) return;
  if (const std::size_t n = step.sets->size(); (t + 1) * n <= out.size() && out.size() > 1)
    std::ranges::copy(*step.sets, out.begin() + static_cast<std::ptrdiff_t>(t * n));
  else
    out[0] = c.d.sets().unite(out[0], c.d.all(step));
}

struct Scan {
  FunctionId body;
  std::size_t consts, carry, length;
  bool reverse;
};

// Every step after the other, with the places that it computes.
void follow_scan(DepCtx& c, const Scan& s) {
  const Body& body = c.t().body(s.body);
  Facts args(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(s.consts + s.carry));
  args.resize(c.x.size());
  std::vector<std::vector<SetId>> stacked;
  for (std::size_t k = s.carry; k < c.in.num_results; ++k)
    stacked.emplace_back(c.d.elements(c.body.type(c.in.result(static_cast<std::uint32_t>(k)))), kEmptySet);
  for (std::size_t i = 0; i < s.length; ++i) {
    const std::size_t t = s.reverse ? s.length - 1 - i : i;
    for (std::size_t k = s.consts + s.carry; k < args.size(); ++k) args[k] = step_of(c, k, body.types[k], t);
    const Facts results = c.d.run(s.body, args);
    std::copy_n(results.begin(), s.carry, args.begin() + static_cast<std::ptrdiff_t>(s.consts));
    for (std::size_t k = 0; k < stacked.size(); ++k) stack(c, results[s.carry + k], t, stacked[k]);
  }
  for (std::size_t k = 0; k < s.carry; ++k) c.y[k] = args[s.consts + k];
  for (std::size_t k = 0; k < stacked.size(); ++k) c.y[s.carry + k] = c.d.of(std::move(stacked[k]));
}

}  // namespace

void depend_scan(DepCtx& c) {
  const AttrTable& at = c.t().attrs;
  const Scan s{c.func(Key::body), static_cast<std::size_t>(at.get_int(c.in.attrs, Key::consts)),
               static_cast<std::size_t>(at.get_int(c.in.attrs, Key::carry)),
               static_cast<std::size_t>(at.get_int(c.in.attrs, Key::length)), at.get_bool(c.in.attrs, Key::reverse)};
  const Body& body = c.t().body(s.body);
  if (s.length * body.num_instrs() <= kMaxFollowed) return follow_scan(c, s);
  const auto first = c.x.begin();
  const auto split = first + static_cast<std::ptrdiff_t>(s.consts);
  Facts consts(first, split), carries(split, split + static_cast<std::ptrdiff_t>(s.carry)), xs;
  for (Fact& f : carries) f.known = kNone<ConstId>;
  for (std::size_t k = s.consts + s.carry; k < c.x.size(); ++k) {  // any step: the union of all
    Fact all;
    for (std::size_t t = 0; c.x[k].sets && t < s.length; ++t) all = c.d.unite(all, step_of(c, k, body.types[k], t));
    all.known = kNone<ConstId>;
    xs.push_back(all);
  }
  const Facts results = fixpoint(c, s.body, consts, carries, xs);
  for (std::size_t k = 0; k < s.carry; ++k) c.y[k] = carries[k];
  for (std::size_t k = s.carry; k < results.size(); ++k) {
    std::vector<SetId> v(c.d.elements(c.body.type(c.in.result(static_cast<std::uint32_t>(k)))), kEmptySet);
    for (std::size_t t = 0; t < s.length && !v.empty(); ++t) stack(c, results[k], t, v);
    c.y[k] = c.d.of(std::move(v));
  }
}

void depend_while(DepCtx& c) {
  const AttrTable& at = c.t().attrs;
  const auto from = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::cond_consts));
  const auto n = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::body_consts));
  const Facts consts(c.x.begin() + static_cast<std::ptrdiff_t>(from),
                     c.x.begin() + static_cast<std::ptrdiff_t>(from + n));
  Facts carries(c.x.begin() + static_cast<std::ptrdiff_t>(from + n), c.x.end());
  for (Fact& f : carries) f.known = kNone<ConstId>;
  const Facts results = fixpoint(c, c.func(Key::body), consts, carries, {});
  put(c, carries);
  for (std::size_t k = carries.size(); k < results.size() && k < c.y.size(); ++k)  // tapes
    c.y[k] = c.d.uniform(c.body.type(c.in.result(static_cast<std::uint32_t>(k))), c.d.all(results[k]));
}

void depend_control(DepCtx& c) {
  const AttrTable& at = c.t().attrs;
  switch (c.in.op) {
    case Op::call:
      return depend_call(c);
    case Op::cond: {
      const FunctionId branches[] = {c.func(Key::then), c.func(Key::else_)};
      return depend_branches(c, branches, true);
    }
    case Op::switch_: {
      std::vector<FunctionId> branches;
      for (AttrId a : at[at.get(c.in.attrs, Key::branches)].items) branches.push_back(at[a].func);
      return depend_branches(c, branches, false);
    }
    case Op::while_:
      return depend_while(c);
    case Op::scan:
      return depend_scan(c);
    default:  // tape_scan
      return depend_all(c);
  }
}

}  // namespace tfvm
