// scan: the known part runs first and stacks its residuals, the linear part is a scan over them. What is the same in
// every step (constants, carries that the body returns unchanged, and all that is computed from constants alone) is
// not stacked but passed as a constant.
#include <algorithm>

#include "transforms/split/rules.h"

namespace tfvm {

namespace {

struct Scan {
  FunctionId body;
  std::size_t consts, carries, xs, ys;
};

Scan scan_of(SplitCtx& c) {
  const AttrTable& at = c.tables().attrs;
  Scan s{c.func(Key::body), static_cast<std::size_t>(at.get_int(c.in.attrs, Key::consts)),
         static_cast<std::size_t>(at.get_int(c.in.attrs, Key::carry)), 0, 0};
  s.xs = c.in.operands.size() - s.consts - s.carries;
  s.ys = c.in.num_results - s.carries;
  return s;
}

// Carries that the body gives back as they came.
bool is_invariant(const Body& body, const Scan& s, std::size_t carry) {
  return body.results[carry] == body.param(static_cast<std::uint32_t>(s.consts + carry));
}

// The split of the body for the least set of unknown carries; `unknown` grows to it.
Result<Split> fixpoint(SplitCtx& c, const Scan& s, Mask& unknown) {
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

// Per result of `f`: depends on its first `consts` parameters alone.
Mask invariant_results(const Tables& t, FunctionId f, std::size_t consts) {
  const Body& body = t.bodies[f.body];
  std::vector<std::uint8_t> varies(body.num_values(), 0);
  for (std::size_t k = consts; k < body.num_params; ++k) varies[k] = 1;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    const bool v = !is_pure(t, in.op, in.attrs) ||
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

// Takes residuals that do not vary, and what they need, out of the loop.
bool hoist(SplitCtx& c, std::size_t results, std::size_t params, Known& k) {
  const std::size_t made = c.tables().bodies[k.body.body].results.size() - results;
  Mask invariant = invariant_results(c.tables(), k.body, k.consts.size());
  k.hoisted = slice(invariant, results, made);
  if (!any(k.hoisted)) return true;
  Mask unknown(params, 1), force(results, 1);
  std::fill_n(unknown.begin(), k.consts.size(), 0);
  for (std::uint8_t h : k.hoisted) force.push_back(!h);
  const Result<Split> s = split(c.env, k.body, unknown, force, {}, SplitUse::Hoist);
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

AttrId scan_attrs(SplitCtx& c, FunctionId body, std::size_t consts, std::size_t carries) {
  AttrTable& at = c.tables().attrs;
  AttrId a = at.with(c.in.attrs, Key::body, at.of(body));
  a = at.with(a, Key::consts, at.of(static_cast<std::int64_t>(consts)));
  return at.with(a, Key::carry, at.of(static_cast<std::int64_t>(carries)));
}

// The linear scan being put together: residuals that are constants and residuals that are scanned.
struct Linear {
  std::vector<SplitRef> consts, carries, xs;
  std::vector<std::uint32_t> const_params, xs_params, carry_params;  // parameters of the linear body
};

void add_residuals(const Split& s, const Scan& scan, const Mask& unknown, std::span<const ValueId> known_operands,
                   const Known& k, std::span<const ValueId> stacked, Linear& out) {
  const std::size_t known_consts = scan.consts - count(slice(unknown, 0, scan.consts));
  const std::size_t known_carries = scan.carries - count(slice(unknown, scan.consts, scan.carries));
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

void split_scan(SplitCtx& c) {
  const Scan scan = scan_of(c);
  Mask unknown = c.unknown();
  const Result<Split> s = fixpoint(c, scan, unknown);
  if (!s) return forward(c.b, s.error());
  // The known scan. An operand of an unknown carry may be known: it goes to the linear scan only.
  std::vector<ValueId> known_operands;
  for (std::size_t k = 0; k < unknown.size(); ++k)
    if (!unknown[k]) known_operands.push_back(c.known(k));
  const Mask out_unknown = s->unknown;
  const std::size_t known_consts = scan.consts - count(slice(unknown, 0, scan.consts));
  const std::size_t known_carries = scan.carries - count(slice(unknown, scan.consts, scan.carries));
  const std::size_t known_results = out_unknown.size() - count(out_unknown);
  Known known{
      s->known, {known_operands.begin(), known_operands.begin() + static_cast<std::ptrdiff_t>(known_consts)}, {}, {}};
  if (!hoist(c, known_results, known_operands.size(), known)) return;
  std::vector<ValueId> operands(known.consts);
  operands.insert(operands.end(), known_operands.begin() + static_cast<std::ptrdiff_t>(known_consts),
                  known_operands.end());
  std::vector<ValueId> results =
      c.b.emit_all(Op::scan, operands, scan_attrs(c, known.body, known.consts.size(), known_carries));
  if (c.b.failed()) return;
  std::size_t at = 0;
  for (std::size_t k = 0; k < out_unknown.size(); ++k)
    if (!out_unknown[k]) c.set(k, results[at++]);
  Linear linear;
  add_residuals(*s, scan, unknown, known_operands, known, std::span(results).subspan(at), linear);
  auto param = static_cast<std::uint32_t>(s->residuals.size());
  for (std::size_t k = 0; k < unknown.size(); ++k) {
    if (!unknown[k]) continue;
    const bool is_const = k < scan.consts, is_carry = !is_const && k < scan.consts + scan.carries;
    (is_const ? linear.consts : is_carry ? linear.carries : linear.xs).push_back(c.ref(k));
    (is_const ? linear.const_params : is_carry ? linear.carry_params : linear.xs_params).push_back(param++);
  }
  std::vector<std::uint32_t> params(linear.const_params), same(count(out_unknown));
  params.insert(params.end(), linear.carry_params.begin(), linear.carry_params.end());
  params.insert(params.end(), linear.xs_params.begin(), linear.xs_params.end());
  for (std::uint32_t k = 0; k < same.size(); ++k) same[k] = k;
  const Result<FunctionId> body = rearrange(c.env, s->linear, params, same);
  if (!body) return forward(c.b, body.error());
  const AttrId attrs = scan_attrs(c, *body, linear.consts.size(), linear.carries.size());
  std::vector<SplitRef> refs(std::move(linear.consts));
  refs.insert(refs.end(), linear.carries.begin(), linear.carries.end());
  refs.insert(refs.end(), linear.xs.begin(), linear.xs.end());
  c.step(Op::scan, attrs, refs, out_unknown);
}

}  // namespace tfvm
