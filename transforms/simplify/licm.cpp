#include "transforms/simplify/licm.h"

#include <algorithm>

#include "bytecode/callees.h"
#include "bytecode/rewriter.h"
#include "transforms/simplify/region.h"

namespace tfvm {

namespace {

bool is_loop(Op op) { return op == Op::scan || op == Op::while_ || op == Op::tape_scan; }

class Licm {
 public:
  explicit Licm(TransformEnv& env) : env_(env), at_(env.tables.attrs), failures_(env.tables) {}

  Result<FunctionId> run(FunctionId f) {
    if (!has_loop(f)) return f;
    if (const auto it = done_.find(f); it != done_.end()) return it->second;
    const Result<FunctionId> made = rewrite(f);
    if (made) done_.emplace(f, *made);
    return made;
  }

 private:
  bool has_loop(FunctionId f) {
    if (const auto it = loops_.find(f.body); it != loops_.end()) return it->second;
    const Body& body = env_.tables.bodies[f.body];
    bool found = false;
    for (std::uint32_t i = 0; i < body.num_instrs() && !found; ++i) {
      if (info(body.ops[i]).kind != OpKind::Control) continue;
      found = is_loop(body.ops[i]);
      each_function(body.attrs[i], [&](FunctionId g) { found = found || has_loop(g); });
    }
    return loops_[f.body] = found;
  }

  template <class Fn>
  void each_function(AttrId attrs, Fn fn) const {
    for (Key key : kCalleeKeys) {
      const Attr& a = at_[at_.get(attrs, key)];
      if (a.kind == AttrKind::Func) fn(a.func);
      for (AttrId item : a.items) fn(at_[item].func);
    }
  }

  Result<FunctionId> rewrite(FunctionId f) {
    const Body& body = env_.tables.bodies[f.body];
    if (body.full) return f;
    Builder b(env_.tables, env_.options, f, "");
    Rewriter w(b, f);
    bool changed = false;
    for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
      const Instr in = body.instr(i);
      if (info(in.op).kind != OpKind::Control) {
        w.copy(static_cast<InstrId>(i));
        continue;
      }
      w.begin(static_cast<InstrId>(i));
      // Callees first, so that what leaves an inner loop can leave the outer one as well.
      Result<AttrId> attrs = map_callees(at_, in.attrs, [&](FunctionId g) { return run(g); });
      if (!attrs) return attrs.error();
      const std::span<const ValueId> mapped = w.operands(in);
      std::vector<ValueId> operands(mapped.begin(), mapped.end());
      if (is_loop(in.op)) {
        if (Status s = leave_loop(b, in.op, *attrs, operands); !s) return std::move(s).error();
      }
      changed = changed || *attrs != in.attrs;
      const std::vector<ValueId> results = b.emit_all(in.op, operands, *attrs);
      for (std::uint32_t k = 0; k < results.size(); ++k) {
        w.map(in.result(k), results[k]);
        b.name_from(results[k], in.result(k));
      }
    }
    return changed ? w.seal() : Result<FunctionId>(f);
  }

  std::size_t number(AttrId attrs, Key key) const { return static_cast<std::size_t>(at_.get_int(attrs, key)); }

  // Carries that the body gives back as they came have one value in all trips.
  std::vector<ValueId> fixed_carries(FunctionId body, std::size_t consts, std::span<const ValueId> carries) const {
    const Body& code = env_.tables.bodies[body.body];
    std::vector<ValueId> out(carries.begin(), carries.end());
    for (std::size_t k = 0; k < out.size(); ++k)
      if (code.results[k] != code.param(static_cast<std::uint32_t>(consts + k))) out[k] = kNoValue;
    return out;
  }

  // Moves code out of one function of the loop, whose constants begin at operand `at`.
  Status leave_region(Builder& b, Key key, Key count, std::size_t at, std::span<const ValueId> carries, bool certain,
                      AttrId& attrs, std::vector<ValueId>& operands) {
    const std::size_t n = number(attrs, count);
    const auto first = operands.begin() + static_cast<std::ptrdiff_t>(at),
               last = first + static_cast<std::ptrdiff_t>(n);
    Region r{at_.get_func(attrs, key), n, {first, last}, certain};
    r.before.insert(r.before.end(), carries.begin(), carries.end());
    r.before.resize(env_.tables.bodies[r.f.body].num_params, kNoValue);  // scanned inputs
    const Result<LeanRegion> lean = tfvm::lean(env_, failures_, b, r);
    if (!lean) return lean.error();
    operands.insert(operands.erase(first, last), lean->consts.begin(), lean->consts.end());
    attrs = at_.with(attrs, key, at_.of(lean->f));
    attrs = at_.with(attrs, count, at_.of(static_cast<std::int64_t>(lean->consts.size())));
    return ok();
  }

  Status leave_loop(Builder& b, Op op, AttrId& attrs, std::vector<ValueId>& operands) {
    const FunctionId body = at_.get_func(attrs, Key::body);
    const std::span<const ValueId> all = operands;
    if (op != Op::while_) {
      const std::size_t first = op == Op::tape_scan ? 1 : 0, consts = number(attrs, Key::consts);
      const auto carries = fixed_carries(body, consts, all.subspan(first + consts, number(attrs, Key::carry)));
      const bool certain = op == Op::scan && at_.get_int(attrs, Key::length) > 0;
      return leave_region(b, Key::body, Key::consts, first, carries, certain, attrs, operands);
    }
    const std::size_t conds = number(attrs, Key::cond_consts), consts = number(attrs, Key::body_consts);
    const auto carries = fixed_carries(body, consts, all.subspan(conds + consts));
    // The body's first: its constants stand behind those of the condition.
    if (Status s = leave_region(b, Key::body, Key::body_consts, conds, carries, false, attrs, operands); !s) return s;
    return leave_region(b, Key::cond, Key::cond_consts, 0, carries, true, attrs, operands);
  }

  TransformEnv& env_;
  AttrTable& at_;
  Failures failures_;
  std::unordered_map<BodyId, bool> loops_;
  std::unordered_map<FunctionId, FunctionId> done_;
};

}  // namespace

Result<FunctionId> licm(TransformEnv& env, FunctionId f) {
  if (const PassResult* r = env.memo.find("licm", f, {})) return r->f;
  const Result<FunctionId> made = Licm(env).run(f);
  if (made) env.memo.add("licm", f, {}, {*made, {}, {}, {}});
  return made;
}

}  // namespace tfvm
