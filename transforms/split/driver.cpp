// The walk: instructions that need only known values go to the known part at once, the others are kept as steps; then
// the residuals are known, and the linear part is built from the steps.
#include <algorithm>

#include "bytecode/rewriter.h"
#include "transforms/simplify/failures.h"
#include "transforms/split/coefficients.h"
#include "transforms/split/rules.h"

namespace tfvm {

Mask SplitCtx::unknown() const {
  Mask m;
  for (std::size_t k = 0; k < in.operands.size(); ++k) m.push_back(unknown(k));
  return m;
}

SplitRef SplitCtx::ref(std::size_t k) const {
  return unknown(k) ? SplitRef{false, in.operands[k]} : SplitRef{true, known(k)};
}

void SplitCtx::step(Op op, AttrId attrs, std::vector<SplitRef> operands, const Mask& results) {
  SplitStep s{op, attrs, std::move(operands), {}, at, false};
  for (std::uint32_t k = 0; k < in.num_results; ++k)
    if (results[k]) s.results.push_back(in.result(k));
  steps.push_back(std::move(s));
}

void SplitCtx::keep_whole() { steps.push_back({in.op, in.attrs, {}, {}, at, true}); }

namespace {

struct Walk {
  TransformEnv& env;
  FunctionId source;
  const Body& body;
  SplitUse use;
  Failures failures;
  Builder known, linear;
  std::vector<ValueId> map;  // source -> known part
  std::vector<SplitStep> steps;
  // Of the linear part.
  std::vector<ValueId> residuals;    // values of the known part, in order of use
  std::vector<ValueId> residual_at;  // known value -> value of the linear part
  std::vector<std::uint8_t> is_residual;
  std::vector<ValueId> linear_map;  // source -> linear part
  std::vector<InstrId> def;         // of the known part
  std::vector<ValueId> operands;    // scratch

  Walk(TransformEnv& e, FunctionId f, SplitUse u)
      : env(e),
        source(f),
        body(e.tables.bodies[f.body]),
        use(u),
        failures(e.tables),
        known(e.tables, e.options, f, "known"),
        linear(e.tables, e.options, f, "linear") {
    map.assign(body.num_values(), kNoValue);
    known.reserve(body.num_instrs(), body.num_values());
  }

  bool hoists() const { return use != SplitUse::Linearize; }

  bool goes_known(const Instr& in) {
    if (hoists() && !is_pure(env.tables, in.op, in.attrs)) return false;
    if (use == SplitUse::HoistSafe && failures.may_fail(in.op, in.attrs)) return false;
    return std::ranges::all_of(in.operands, [&](ValueId v) { return map[index(v)] != kNoValue; });
  }

  void copy_known(const Instr& in) {
    copy_mapped(known, body, in, map);
    for (std::uint32_t k = 0; in.op != Op::constant && k < in.num_results; ++k)
      known.name_from(map[index(in.result(k))], in.result(k));
  }

  void instr(std::uint32_t i) {
    const Instr in = body.instr(i);
    known.set_origin(static_cast<InstrId>(i));
    if (goes_known(in)) return copy_known(in);
    SplitCtx c{env, known, in, static_cast<InstrId>(i), map, steps};
    if (info(in.op).kind != OpKind::Control || hoists()) return c.keep_whole();
    if (in.op == Op::call) return split_call(c);
    if (in.op == Op::cond || in.op == Op::switch_) return split_branches(c);
    split_loop(c);
  }

  template <class Fn>
  void each_operand(const SplitStep& s, Fn fn) const {
    for (const SplitRef& r : s.operands) fn(r);
    if (!s.whole) return;
    for (ValueId v : body.instr(s.origin).operands)
      fn(map[index(v)] == kNoValue ? SplitRef{false, v} : SplitRef{true, map[index(v)]});
  }

  bool gives_any(const SplitStep& s, const std::vector<std::uint8_t>& of) const {
    if (!s.whole) return std::ranges::any_of(s.results, [&](ValueId v) { return of[index(v)] != 0; });
    const Instr in = body.instr(s.origin);
    for (std::uint32_t k = 0; k < in.num_results; ++k)
      if (of[index(in.result(k))]) return true;
    return false;
  }

  // Steps that no unknown result needs are dropped, and with them their residuals.
  void drop_dead_steps(const Mask& wanted) {
    std::vector<std::uint8_t> live(body.num_values(), 0);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (wanted[k]) live[index(body.results[k])] = 1;
    std::vector<SplitStep> kept;
    for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
      if (!gives_any(*s, live) && is_pure(env.tables, s->op, s->attrs)) continue;
      each_operand(*s, [&](const SplitRef& r) {
        if (!r.known) live[index(r.v)] = 1;
      });
      kept.push_back(std::move(*s));
    }
    std::ranges::reverse(kept);
    steps = std::move(kept);
  }

  // Constants, iotas, globals and broadcasts are made again rather than saved.
  bool is_cheap(ValueId v) const {
    const InstrId d = def[index(v)];
    if (d == kNone<InstrId>) return false;
    const Op op = known.body().ops[index(d)];
    return op == Op::constant || op == Op::iota || op == Op::global || op == Op::broadcast_to;
  }

  void collect(ValueId v) {
    while (is_cheap(v)) {
      const Instr in = known.body().instr(def[index(v)]);
      if (in.operands.empty()) return;
      v = in.operands[0];
    }
    if (is_residual[index(v)]) return;
    is_residual[index(v)] = 1;
    residuals.push_back(v);
  }

  ValueId in_linear(ValueId v) {
    if (residual_at[index(v)] != kNoValue || linear.failed()) return residual_at[index(v)];
    const Instr in = known.body().instr(def[index(v)]);
    const AttrId attrs = in.attrs;
    ValueId made;
    if (in.op == Op::constant) {
      made = linear.constant(env.tables.attrs[attrs].constant);
    } else if (in.operands.empty()) {
      made = linear.emit(in.op, std::span<const ValueId>{}, attrs);
    } else {
      const ValueId from = in_linear(in.operands[0]);
      made = linear.emit(Op::broadcast_to, std::span(&from, 1), attrs);
    }
    return residual_at[index(v)] = made;
  }

  void prepare_linear(const Mask& unknown_params, const Mask& unknown_results) {
    def = definitions(known.body());
    is_residual.assign(known.body().num_values(), 0);
    residual_at.assign(known.body().num_values(), kNoValue);
    linear_map.assign(body.num_values(), kNoValue);
    for (const SplitStep& s : steps)
      each_operand(s, [&](const SplitRef& r) {
        if (r.known) collect(r.v);
      });
    for (std::size_t k = 0; k < unknown_results.size(); ++k) {
      const ValueId v = map[index(body.results[k])];
      if (unknown_results[k] && v != kNoValue) collect(v);
    }
    linear.reserve(steps.size(), residuals.size() + steps.size());
    for (ValueId v : residuals) residual_at[index(v)] = linear.param(known.type(v));
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      if (!unknown_params[k]) continue;
      linear_map[k] = linear.param(body.types[k]);
      linear.name_from(linear_map[k], body.param(k));
    }
  }

  void build_step(const SplitStep& s) {
    linear.set_origin(s.origin);
    operands.clear();
    each_operand(s, [&](const SplitRef& r) { operands.push_back(r.known ? in_linear(r.v) : linear_map[index(r.v)]); });
    if (s.whole) return build_whole(s.origin);
    const std::vector<ValueId> results = linear.emit_all(s.op, operands, s.attrs);
    for (std::size_t k = 0; k < results.size() && k < s.results.size(); ++k) {
      linear_map[index(s.results[k])] = results[k];
      linear.name_from(results[k], s.results[k]);
    }
  }

  void build_whole(InstrId origin) {
    const Instr in = body.instr(origin);
    const ValueId first = linear.copy(body, in, operands);
    for (std::uint32_t k = 0; first != kNoValue && k < in.num_results; ++k) {
      linear_map[index(in.result(k))] = static_cast<ValueId>(index(first) + k);
      linear.name_from(linear_map[index(in.result(k))], in.result(k));
    }
  }

  Result<Split> finish(const Mask& pass_on, const Mask& unknown_params, const Mask& unknown_results) {
    drop_dead_steps(unknown_results);
    if (use == SplitUse::Linearize) {
      compose_coefficients(known, body, map, unknown_results, steps);
      drop_dead_steps(unknown_results);
    }
    prepare_linear(unknown_params, unknown_results);
    for (const SplitStep& s : steps) build_step(s);
    Split out;
    out.unknown = unknown_results;
    std::vector<ValueId> known_results, linear_results;
    for (std::size_t k = 0; k < body.results.size() && !linear.failed(); ++k) {
      const ValueId v = body.results[k], here = map[index(v)];
      if (!unknown_results[k])
        known_results.push_back(here);
      else
        linear_results.push_back(here != kNoValue ? in_linear(here) : linear_map[index(v)]);
    }
    const std::vector<std::uint32_t> known_params = positions(unknown_params, false);
    for (ValueId v : residuals) {
      const std::uint32_t k = index(v);
      const bool passed = k < known_params.size() && (pass_on.empty() || pass_on[known_params[k]]);
      out.residuals.push_back(passed ? std::int64_t{k} : -1);
      if (!passed) known_results.push_back(v);
    }
    const Result<FunctionId> first = known.seal(known_results);
    if (!first) return first.error();
    const Result<FunctionId> second = linear.seal(linear_results);
    if (!second) return second.error();
    out.known = *first;
    out.linear = *second;
    return out;
  }
};

}  // namespace

Result<Split> split(TransformEnv& env, FunctionId f, const Mask& unknown, const Mask& force, const Mask& pass_on,
                    SplitUse use) {
  std::vector<std::int64_t> key = memo_key({&unknown, &force, &pass_on});
  key.push_back(static_cast<std::int64_t>(use));
  if (const PassResult* r = env.memo.find("split", f, key)) return Split{r->f, r->more[0], r->mask, r->numbers};
  Walk w(env, f, use);
  for (std::uint32_t k = 0; k < w.body.num_params; ++k) {
    if (unknown[k]) continue;
    w.map[k] = w.known.param(w.body.types[k]);
    w.known.name_from(w.map[k], w.body.param(k));
  }
  for (std::uint32_t i = 0; i < w.body.num_instrs() && !w.known.failed(); ++i) w.instr(i);
  if (w.known.failed()) return note_pass(env.tables, w.known.error(), "reverse mode", f);
  Mask out;
  for (std::size_t k = 0; k < w.body.results.size(); ++k)
    out.push_back(w.map[index(w.body.results[k])] == kNoValue || (k < force.size() && force[k]));
  Result<Split> r = w.finish(pass_on, unknown, out);
  if (!r) return note_pass(env.tables, r.error(), "reverse mode", f);
  env.memo.add("split", f, key, {r->known, r->unknown, {r->linear}, r->residuals});
  return r;
}

}  // namespace tfvm
