// Loops: the known part runs first and keeps its residuals trip by trip (a scan stacks them, a loop whose trips are
// counted when it runs writes them on tapes), the linear part is a loop over them. What is the same in every trip
// (constants, carries that the body returns unchanged, and all that is computed from constants alone) is not kept but
// passed as a constant. The linear part of `while` is a tape_scan of as many trips as the known part counted.
#include <algorithm>

#include "transforms/simplify/failures.h"
#include "transforms/split/memory.h"

namespace tfvm {

namespace {

Loop loop_of(SplitCtx& c) {
  const AttrTable& at = c.tables().attrs;
  const auto get = [&](Key k) { return static_cast<std::size_t>(at.get_int(c.in.attrs, k)); };
  Loop s{c.func(Key::body), 0, 0, 0, 0, 0};
  if (c.in.op == Op::while_) {
    s.first = get(Key::cond_consts);
    s.consts = get(Key::body_consts);
    s.carries = c.in.operands.size() - s.first - s.consts;
  } else {
    s.first = c.in.op == Op::tape_scan ? 1 : 0;
    s.consts = get(Key::consts);
    s.carries = get(Key::carry);
    s.xs = c.in.operands.size() - s.first - s.consts - s.carries;
  }
  s.ys = c.in.num_results - s.carries;
  return s;
}

// Carries that the body gives back as they came.
bool is_invariant(const Body& body, const Loop& s, std::size_t carry) {
  return body.results[carry] == body.param(static_cast<std::uint32_t>(s.consts + carry));
}

// The split of the body for the least set of unknown carries; `unknown` grows to it.
Result<Split> fixpoint(SplitCtx& c, const Loop& s, Mask& unknown) {
  const Body& body = c.tables().bodies[s.body.body];
  Mask pass_on(unknown.size(), 1);
  for (std::size_t k = 0; k < s.carries; ++k) pass_on[s.consts + k] = is_invariant(body, s, k);
  for (;;) {
    const Mask carries = slice(unknown, s.consts, s.carries), none(s.ys, 0);
    Result<Split> r = split(c.env, s.body, unknown, concat({&carries, &none}), pass_on);
    if (!r) return r;
    const Mask next = slice(r->unknown, 0, s.carries);
    if (next == carries) return r;
    std::ranges::copy(next, unknown.begin() + static_cast<std::ptrdiff_t>(s.consts));
  }
}

// Per result of `f`: depends on its first `consts` parameters alone, and on nothing that may fail unless `certain`.
Mask invariant_results(const Tables& t, FunctionId f, std::size_t consts, bool certain) {
  const Body& body = t.bodies[f.body];
  Failures failures(t);
  std::vector<std::uint8_t> varies(body.num_values(), 0);
  for (std::size_t k = consts; k < body.num_params; ++k) varies[k] = 1;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    const bool v = !is_pure(t, in.op, in.attrs) || (!certain && failures.may_fail(in.op, in.attrs)) ||
                   std::ranges::any_of(in.operands, [&](ValueId o) { return varies[index(o)] != 0; });
    for (std::uint32_t k = 0; k < in.num_results; ++k) varies[index(in.result(k))] = v;
  }
  Mask out;
  for (ValueId v : body.results) out.push_back(!varies[index(v)]);
  return out;
}

// The known scan as it will be emitted.
struct Known {
  FunctionId body;
  std::vector<ValueId> consts;  // operands
  Mask hoisted;                 // per residual that the body made: taken out of the loop …
  std::vector<ValueId> values;  // … where its value is this one
};

// Takes residuals that do not vary, and what they need, out of the loop. What may fail stays in a loop that may make
// no trip.
bool hoist(SplitCtx& c, std::size_t results, std::size_t params, Known& k) {
  const std::size_t made = c.tables().bodies[k.body.body].results.size() - results;
  const bool certain = c.in.op == Op::scan && c.tables().attrs.get_int(c.in.attrs, Key::length) > 0;
  const Mask invariant = invariant_results(c.tables(), k.body, k.consts.size(), certain);
  k.hoisted = slice(invariant, results, made);
  if (!any(k.hoisted)) return true;
  Mask unknown(params, 1), force(results, 1);
  std::fill_n(unknown.begin(), k.consts.size(), 0);
  for (std::uint8_t h : k.hoisted) force.push_back(!h);
  const Result<Split> s = split(c.env, k.body, unknown, force, {}, certain ? SplitUse::Hoist : SplitUse::HoistSafe);
  if (!s) return forward(c.b, s.error()), false;
  AttrTable& at = c.tables().attrs;
  k.values = c.b.emit_all(Op::call, k.consts, at.dict({{Key::callee, s->known}}));
  if (c.b.failed()) return false;
  std::vector<ValueId> consts;
  std::size_t next = count(k.hoisted);
  for (std::int64_t r : s->residuals)
    consts.push_back(r >= 0 ? k.consts[static_cast<std::size_t>(r)] : k.values[next++]);
  k.consts = std::move(consts);
  k.body = s->linear;
  return true;
}

// The attributes of a scan or tape_scan with this body.
AttrId scan_attrs(SplitCtx& c, FunctionId body, std::size_t consts, std::size_t carries) {
  AttrTable& at = c.tables().attrs;
  const auto n = static_cast<std::int64_t>(consts), m = static_cast<std::int64_t>(carries);
  if (c.in.op == Op::while_) return at.dict({{Key::body, body}, {Key::consts, n}, {Key::carry, m}});
  AttrId a = at.with(c.in.attrs, Key::body, at.of(body));
  a = at.with(a, Key::consts, at.of(n));
  return at.with(a, Key::carry, at.of(m));
}

// (consts…, carries…) -> (carries…, ys…) with a counter behind the carries.
Result<FunctionId> counted(SplitCtx& c, FunctionId f, std::size_t carries) {
  const Body& body = c.tables().bodies[f.body];
  Builder b(c.tables(), c.env.options, f, "");
  std::vector<ValueId> args;
  for (TypeId t : body.param_types()) args.push_back(b.param(t));
  const ValueId i = b.param(c.tables().types.scalar(DType::I64));
  std::vector<ValueId> out = inline_kin(b, f, args, Kin::Parent);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(carries), b.emit(Op::add, {i, b.scalar_int(DType::I64, 1)}));
  return b.seal(out);
}

// What the known loop gives: results as those of its body, and the number of trips where it is known only now.
struct Ran {
  std::vector<ValueId> results;
  ValueId trips = kNoValue;
};

Ran run_known_scan(SplitCtx& c, const Known& k, std::span<const ValueId> rest, std::size_t carries) {
  std::vector<ValueId> operands;
  if (c.in.op == Op::tape_scan) operands.push_back(c.known(0));
  operands.insert(operands.end(), k.consts.begin(), k.consts.end());
  operands.insert(operands.end(), rest.begin(), rest.end());
  Ran r{c.b.emit_all(c.in.op, operands, scan_attrs(c, k.body, k.consts.size(), carries)), kNoValue};
  if (c.in.op == Op::tape_scan) r.trips = c.known(0);
  return r;
}

// `cond` must not depend on what is unknown.
Ran run_known_while(SplitCtx& c, const Loop& loop, const Mask& unknown, const Known& k, std::span<const ValueId> rest,
                    std::size_t carries) {
  AttrTable& at = c.tables().attrs;
  const Mask no_consts(loop.first, 0), unknown_carries = slice(unknown, loop.consts, loop.carries);
  const Result<Split> cond = split(c.env, c.func(Key::cond), concat({&no_consts, &unknown_carries}));
  if (!cond) return forward(c.b, cond.error()), Ran{};
  if (cond->unknown[0]) return c.b.fail(Code::Internal, "the trips of a loop depend on what is linear"), Ran{};
  const TypeId counter = c.tables().types.scalar(DType::I64);
  const Result<FunctionId> test = with_extra_params(c.env, cond->known, std::span(&counter, 1));
  const Result<FunctionId> body = counted(c, k.body, carries);
  if (!test || !body) return forward(c.b, !test ? test.error() : body.error()), Ran{};
  std::vector<ValueId> operands;
  for (std::size_t o = 0; o < loop.first; ++o) operands.push_back(c.known(o));
  operands.insert(operands.end(), k.consts.begin(), k.consts.end());
  operands.insert(operands.end(), rest.begin(), rest.end());
  operands.push_back(c.b.scalar_int(DType::I64, 0));
  const std::size_t tapes = c.tables().bodies[body->body].results.size() - carries - 1;
  const AttrId attrs = at.dict({{Key::cond, *test},
                                {Key::body, *body},
                                {Key::cond_consts, static_cast<std::int64_t>(loop.first)},
                                {Key::body_consts, static_cast<std::int64_t>(k.consts.size())},
                                {Key::tapes, static_cast<std::int64_t>(tapes)}});
  Ran r{c.b.emit_all(Op::while_, operands, attrs), kNoValue};
  if (c.b.failed()) return r;
  r.trips = r.results[carries];
  r.results.erase(r.results.begin() + static_cast<std::ptrdiff_t>(carries));
  return r;
}

// The linear loop being put together: residuals that are constants and residuals that are scanned.
struct Linear {
  std::vector<SplitRef> consts, carries, xs;
  std::vector<std::uint32_t> const_params, xs_params, carry_params;  // parameters of the linear body
};

void add_residuals(const Split& s, const Loop& loop, const Mask& unknown, std::span<const ValueId> known_operands,
                   const Known& k, std::span<const ValueId> stacked, Linear& out) {
  const std::size_t known_consts = loop.consts - count(slice(unknown, 0, loop.consts));
  const std::size_t known_carries = loop.carries - count(slice(unknown, loop.consts, loop.carries));
  std::size_t made = 0, hoisted = 0, stack = 0;
  for (std::uint32_t p = 0; p < s.residuals.size(); ++p) {
    const std::int64_t r = s.residuals[p];
    const bool scanned = r < 0 ? !k.hoisted[made] : static_cast<std::size_t>(r) >= known_consts + known_carries;
    ValueId v;
    if (r >= 0)
      v = known_operands[static_cast<std::size_t>(r)];
    else
      v = k.hoisted[made++] ? k.values[hoisted++] : stacked[stack++];
    (scanned ? out.xs : out.consts).push_back({true, v});
    (scanned ? out.xs_params : out.const_params).push_back(p);
  }
}

}  // namespace

void split_loop(SplitCtx& c) {
  const Loop loop = loop_of(c);
  const Mask all = c.unknown();
  if (any(slice(all, 0, loop.first))) return c.keep_whole();
  Mask unknown = slice(all, loop.first, all.size() - loop.first);
  const Result<Split> s = fixpoint(c, loop, unknown);
  if (!s) return forward(c.b, s.error());
  if (const FunctionId nested = within_memory(c, loop, unknown, *s)) {
    const Instr call{Op::call, c.tables().attrs.dict({{Key::callee, nested}}), c.in.operands, c.in.first_result,
                     c.in.num_results};
    SplitCtx as_call{c.env, c.b, call, c.at, c.map, c.steps};
    return split_call(as_call);
  }
  if (c.b.failed()) return;
  // The known loop. An operand of an unknown carry may be known: it goes to the linear loop only.
  std::vector<ValueId> known_operands;
  for (std::size_t k = 0; k < unknown.size(); ++k)
    if (!unknown[k]) known_operands.push_back(c.known(loop.first + k));
  const Mask out_unknown = s->unknown;
  const std::size_t known_consts = loop.consts - count(slice(unknown, 0, loop.consts));
  const std::size_t known_carries = loop.carries - count(slice(unknown, loop.consts, loop.carries));
  const std::size_t known_results = out_unknown.size() - count(out_unknown);
  const auto rest = std::span(known_operands).subspan(known_consts);
  Known known{
      s->known, {known_operands.begin(), known_operands.begin() + static_cast<std::ptrdiff_t>(known_consts)}, {}, {}};
  if (!hoist(c, known_results, known_operands.size(), known)) return;
  const Ran ran = c.in.op == Op::while_ ? run_known_while(c, loop, unknown, known, rest, known_carries)
                                        : run_known_scan(c, known, rest, known_carries);
  if (c.b.failed()) return;
  std::size_t at = 0;
  for (std::size_t k = 0; k < out_unknown.size(); ++k)
    if (!out_unknown[k]) c.set(k, ran.results[at++]);
  Linear linear;
  add_residuals(*s, loop, unknown, known_operands, known, std::span(ran.results).subspan(at), linear);
  auto param = static_cast<std::uint32_t>(s->residuals.size());
  for (std::size_t k = 0; k < unknown.size(); ++k) {
    if (!unknown[k]) continue;
    const bool is_const = k < loop.consts, is_carry = !is_const && k < loop.consts + loop.carries;
    (is_const ? linear.consts : is_carry ? linear.carries : linear.xs).push_back(c.ref(loop.first + k));
    (is_const ? linear.const_params : is_carry ? linear.carry_params : linear.xs_params).push_back(param++);
  }
  std::vector<std::uint32_t> params(linear.const_params), same(count(out_unknown));
  params.insert(params.end(), linear.carry_params.begin(), linear.carry_params.end());
  params.insert(params.end(), linear.xs_params.begin(), linear.xs_params.end());
  for (std::uint32_t k = 0; k < same.size(); ++k) same[k] = k;
  const Result<FunctionId> body = rearrange(c.env, s->linear, params, same);
  if (!body) return forward(c.b, body.error());
  const AttrId attrs = scan_attrs(c, *body, linear.consts.size(), linear.carries.size());
  std::vector<SplitRef> refs;
  if (ran.trips != kNoValue) refs.push_back({true, ran.trips});
  refs.insert(refs.end(), linear.consts.begin(), linear.consts.end());
  refs.insert(refs.end(), linear.carries.begin(), linear.carries.end());
  refs.insert(refs.end(), linear.xs.begin(), linear.xs.end());
  c.step(c.in.op == Op::scan ? Op::scan : Op::tape_scan, attrs, refs, out_unknown);
}

}  // namespace tfvm
