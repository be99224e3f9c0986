#include "transforms/simplify/dead_outputs.h"

#include <algorithm>

#include "bytecode/own_rules.h"
#include "bytecode/rewriter.h"
#include "transforms/functions.h"

namespace tfvm {

namespace {

Mask used_values(const Tables& t, const Body& body) {
  Mask used(body.num_values(), 0);
  for (ValueId v : body.results) used[index(v)] = 1;
  for (std::uint32_t i = body.num_instrs(); i-- > 0;) {
    const Instr in = body.instr(i);
    bool live = !is_pure(t, in.op, in.attrs);
    for (std::uint32_t k = 0; k < in.num_results; ++k) live = live || used[index(in.result(k))];
    if (!live) continue;
    for (ValueId v : in.operands) used[index(v)] = 1;
  }
  return used;
}

// How many results lead that must stay: the carries of a loop. Nothing may go where the op is another one.
std::size_t fixed_results(const AttrTable& at, const Instr& in) {
  switch (in.op) {
    case Op::scan:
    case Op::tape_scan:
      return static_cast<std::size_t>(at.get_int(in.attrs, Key::carry));
    case Op::while_:
      return in.num_results - static_cast<std::size_t>(at.get_int(in.attrs, Key::tapes));
    case Op::call:
      return has_own_rule(at, in.attrs) ? in.num_results : 0;
    default:
      return in.num_results;
  }
}

// `f` with these of its results. Remembered by them: a function is reached by many calls, and each rearranging is a new
// one, so that else the cost would be that of all paths through the calls.
Result<FunctionId> with_results(TransformEnv& env, FunctionId f, std::span<const std::uint32_t> keep) {
  const Body& body = env.tables.bodies[f.body];
  if (keep.size() == body.results.size()) return without_dead_outputs(env, f);
  std::vector<std::int64_t> key{static_cast<std::int64_t>(keep.size())};
  key.insert(key.end(), keep.begin(), keep.end());
  if (const PassResult* r = env.memo.find("dead_outputs", f, key)) return r->f;
  std::vector<std::uint32_t> same(body.num_params);
  for (std::uint32_t k = 0; k < same.size(); ++k) same[k] = k;
  Result<FunctionId> less = rearrange(env, f, same, keep);
  if (less) less = without_dead_outputs(env, *less);
  if (less) env.memo.add("dead_outputs", f, key, {*less, {}, {}, {}});
  return less;
}

}  // namespace

Result<FunctionId> without_dead_outputs(TransformEnv& env, FunctionId f) {
  if (const PassResult* r = env.memo.find("dead_outputs", f, {})) return r->f;
  AttrTable& at = env.tables.attrs;
  const Body& body = env.tables.bodies[f.body];
  const Mask used = used_values(env.tables, body);
  Builder b(env.tables, env.options, f, "");
  Rewriter w(b, f);
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::constant) {
      w.copy(static_cast<InstrId>(i));
      continue;
    }
    w.begin(static_cast<InstrId>(i));
    const std::size_t fixed = fixed_results(at, in);
    std::vector<std::uint32_t> keep;
    for (std::uint32_t k = 0; k < in.num_results; ++k)
      if (k < fixed || used[index(in.result(k))]) keep.push_back(k);
    AttrId attrs = in.attrs;
    if (fixed < in.num_results && (!keep.empty() || !is_pure(env.tables, in.op, in.attrs))) {
      const Key key = in.op == Op::call ? Key::callee : Key::body;
      const Result<FunctionId> less = with_results(env, at.get_func(attrs, key), keep);
      if (!less) return less;
      attrs = at.with(attrs, key, at.of(*less));
      if (in.op == Op::while_)
        attrs = at.with(attrs, Key::tapes, at.of(static_cast<std::int64_t>(keep.size() - fixed)));
    } else if (keep.size() < in.num_results) {
      continue;  // nothing of it is used
    }
    const std::vector<ValueId> results = b.emit_all(in.op, w.operands(in), attrs);
    for (std::size_t k = 0; k < results.size() && k < keep.size(); ++k) {
      w.map(in.result(keep[k]), results[k]);
      b.name_from(results[k], in.result(keep[k]));
    }
  }
  const Result<FunctionId> made = w.seal();
  if (made) env.memo.add("dead_outputs", f, {}, {*made, {}, {}, {}});
  return made;
}

}  // namespace tfvm
