// call, cond and switch.
#include <algorithm>

#include "transforms/split/rules.h"

namespace tfvm {

// Known results of a call of the known part; what it makes beyond them comes back.
std::vector<ValueId> emit_known(SplitCtx& c, Op op, AttrId attrs, std::span<const ValueId> operands,
                                const Mask& unknown) {
  const std::vector<ValueId> results = c.b.emit_all(op, operands, attrs);
  if (c.b.failed()) return {};
  std::size_t at = 0;
  for (std::size_t k = 0; k < unknown.size(); ++k)
    if (!unknown[k]) c.set(k, results[at++]);
  return {results.begin() + static_cast<std::ptrdiff_t>(at), results.end()};
}

namespace {

// A call that would hand on more residuals than this is run again by the backward pass instead: else the signatures of
// n functions, each calling the next twice, would have 2^n parameters.
constexpr std::ptrdiff_t kMaxResiduals = 4096;

// Residuals of several branches in one list of slots: one per type and as many as the branch with the most needs.
struct Slots {
  std::vector<TypeId> types;

  // The slots for residuals of these types, each used once.
  std::vector<std::size_t> place(std::span<const TypeId> residuals) {
    std::vector<std::size_t> at;
    for (TypeId t : residuals) {
      std::size_t k = 0;
      while (k < types.size() && (types[k] != t || std::ranges::find(at, k) != at.end())) ++k;
      if (k == types.size()) types.push_back(t);
      at.push_back(k);
    }
    return at;
  }
};

struct Branch {
  Split split;
  std::vector<std::size_t> slots;  // of the residuals that it makes
};

// The known part of a branch, with its residuals in their slots.
Result<FunctionId> known_branch(SplitCtx& c, const Branch& branch, const Slots& slots) {
  const FunctionId f = branch.split.known;
  const Body& body = c.tables().bodies[f.body];
  Builder b(c.tables(), c.env.options, f, "");
  std::vector<ValueId> args;
  for (TypeId t : body.param_types()) args.push_back(b.param(t));
  const std::vector<ValueId> all = inline_kin(b, f, args, Kin::Parent);
  const std::size_t n = all.size() - branch.slots.size();
  std::vector<ValueId> results(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t s = 0; s < slots.types.size(); ++s) {
    const auto at = std::ranges::find(branch.slots, s) - branch.slots.begin();
    const bool own = static_cast<std::size_t>(at) < branch.slots.size();
    results.push_back(own ? all[n + static_cast<std::size_t>(at)] : b.zeros(slots.types[s]));
  }
  return b.seal(results);
}

// The linear part of a branch as (passed parameters…, slots…, unknown parameters…).
Result<FunctionId> linear_branch(SplitCtx& c, const Branch& branch, const Slots& slots,
                                 std::span<const std::int64_t> passed, std::span<const TypeId> known_types) {
  const FunctionId f = branch.split.linear;
  const Body& body = c.tables().bodies[f.body];
  Builder b(c.tables(), c.env.options, f, "");
  std::vector<ValueId> passed_values, slot_values, args;
  for (std::int64_t p : passed) passed_values.push_back(b.param(known_types[static_cast<std::size_t>(p)]));
  for (TypeId t : slots.types) slot_values.push_back(b.param(t));
  std::size_t made = 0;
  for (std::int64_t r : branch.split.residuals) {
    const auto at = static_cast<std::size_t>(std::ranges::find(passed, r) - passed.begin());
    args.push_back(r >= 0 ? passed_values[at] : slot_values[branch.slots[made++]]);
  }
  for (std::size_t k = args.size(); k < body.num_params; ++k) args.push_back(b.param(body.types[k]));
  return b.seal(inline_kin(b, f, args, Kin::Parent));
}

AttrId branch_attrs(SplitCtx& c, std::span<const FunctionId> f) {
  AttrTable& at = c.tables().attrs;
  if (c.in.op == Op::cond) return at.dict({{Key::then, f[0]}, {Key::else_, f[1]}});
  std::vector<AttrId> items;
  for (FunctionId g : f) items.push_back(at.of(g));
  return at.dict({{Key::branches, at.list(items)}});
}

std::vector<FunctionId> branch_functions(SplitCtx& c) {
  const AttrTable& at = c.tables().attrs;
  if (c.in.op == Op::cond) return {c.func(Key::then), c.func(Key::else_)};
  std::vector<FunctionId> out;
  for (AttrId a : at[at.get(c.in.attrs, Key::branches)].items) out.push_back(at[a].func);
  return out;
}

// All branches split for the union of their unknown results.
bool split_all(SplitCtx& c, std::span<const FunctionId> functions, const Mask& in, Mask& out,
               std::vector<Branch>& branches) {
  for (int round = 0; round < 2; ++round) {
    branches.clear();
    for (FunctionId f : functions) {
      const Result<Split> s = split(c.env, f, in, out);
      if (!s) return forward(c.b, s.error()), false;
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = out[k] || s->unknown[k];
      branches.push_back({*s, {}});
    }
  }
  return true;
}

}  // namespace

void split_call(SplitCtx& c) {
  AttrTable& at = c.tables().attrs;
  if (has_own_rule(at, c.in.attrs)) return c.keep_whole();
  const FunctionId callee = c.func(Key::callee);
  const Result<Split> s = split(c.env, callee, c.unknown());
  if (!s) return forward(c.b, s.error());
  AttrId attrs = c.in.attrs;
  if (at.has(attrs, Key::policy)) {
    const AttrId written = at.get(attrs, Key::policy);
    const Result<CheckpointPolicy> policy = checkpoint_policy(c.tables(), written);
    if (!policy) return forward(c.b, policy.error());
    if (policy->kind != CheckpointPolicy::Kind::Everything) return split_checkpoint(c, callee, *policy, written);
    attrs = at.with(attrs, Key::policy, at.none());
  } else if (std::ranges::count(s->residuals, -1) > kMaxResiduals) {
    return split_checkpoint(c, callee, {}, at.of("nothing_saveable"));
  }
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < c.in.operands.size(); ++k)
    if (!c.unknown(k)) operands.push_back(c.known(k));
  const std::vector<ValueId> made =
      emit_known(c, Op::call, at.with(attrs, Key::callee, at.of(s->known)), operands, s->unknown);
  std::vector<SplitRef> refs;
  std::size_t next = 0;
  for (std::int64_t r : s->residuals) {
    if (c.b.failed()) return;
    refs.push_back({true, r >= 0 ? operands[static_cast<std::size_t>(r)] : made[next++]});
  }
  for (std::size_t k = 0; k < c.in.operands.size(); ++k)
    if (c.unknown(k)) refs.push_back(c.ref(k));
  c.step(Op::call, at.with(attrs, Key::callee, at.of(s->linear)), refs, s->unknown);
}

void split_branches(SplitCtx& c) {
  if (c.unknown(0)) return c.keep_whole();
  const std::vector<FunctionId> functions = branch_functions(c);
  const Mask in = slice(c.unknown(), 1, c.in.operands.size() - 1);
  Mask out(c.in.num_results, 0);
  std::vector<Branch> branches;
  if (!split_all(c, functions, in, out, branches)) return;
  std::vector<ValueId> args{c.known(0)};
  std::vector<TypeId> known_types;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (in[k]) continue;
    args.push_back(c.known(k + 1));
    known_types.push_back(c.b.type(args.back()));
  }
  Slots slots;
  std::vector<std::int64_t> passed;
  for (Branch& branch : branches) {
    const std::vector<TypeId> types = c.tables().bodies[branch.split.known.body].result_types();
    const auto made = static_cast<std::size_t>(std::ranges::count(branch.split.residuals, -1));
    branch.slots = slots.place(std::span(types).last(made));
    for (std::int64_t r : branch.split.residuals)
      if (r >= 0 && std::ranges::find(passed, r) == passed.end()) passed.push_back(r);
  }
  std::vector<FunctionId> known, linear;
  for (const Branch& branch : branches) {
    const Result<FunctionId> k = known_branch(c, branch, slots);
    const Result<FunctionId> l = linear_branch(c, branch, slots, passed, known_types);
    if (!k || !l) return forward(c.b, !k ? k.error() : l.error());
    known.push_back(*k);
    linear.push_back(*l);
  }
  const std::vector<ValueId> made = emit_known(c, c.in.op, branch_attrs(c, known), args, out);
  if (c.b.failed()) return;
  std::vector<SplitRef> refs{{true, args[0]}};
  for (std::int64_t p : passed) refs.push_back({true, args[static_cast<std::size_t>(p) + 1]});
  for (ValueId v : made) refs.push_back({true, v});
  for (std::size_t k = 0; k < in.size(); ++k)
    if (in[k]) refs.push_back(c.ref(k + 1));
  c.step(c.in.op, branch_attrs(c, linear), refs, out);
}

}  // namespace tfvm
