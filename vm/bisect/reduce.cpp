#include "vm/bisect/reduce.h"

#include <algorithm>

#include "bytecode/callees.h"
#include "bytecode/own_rules.h"
#include "bytecode/rewriter.h"

namespace tfvm {

namespace {

using Kept = std::vector<std::uint8_t>;  // a flag per instruction

// Takes out runs of instructions, long ones first, as long as `try_without` says that it still shows.
template <class Try>
void shrink(Kept& kept, Try try_without) {
  const auto left = [&] { return static_cast<std::size_t>(std::ranges::count(kept, 1)); };
  for (std::size_t run = std::max<std::size_t>(1, left() / 2);;) {
    bool changed = false;
    for (std::size_t at = 0; at < kept.size();) {
      Kept less = kept;
      std::size_t dropped = 0, end = at;
      for (; end < kept.size() && dropped < run; ++end) {
        dropped += less[end];
        less[end] = 0;
      }
      if (dropped > 0 && try_without(less)) {
        kept = std::move(less);
        changed = true;
      }
      at = end;
    }
    if (run == 1 && !changed) return;
    run = std::max<std::size_t>(1, run / 2);
  }
}

class Reducer {
 public:
  Reducer(TransformEnv& env, const ReduceTest& test)
      : env_(env), t_(env.tables), test_(test), plain_{env.options.evaluator, false} {}

  ReducedProgram run(ReducedProgram p) {
    if (Result<FunctionId> flat = inlined(p.f)) take(p, {*flat, p.inputs, p.flags});
    cut(p);
    std::vector<Step> path;
    within(p, path);
    cut(p);
    return p;
  }

  std::vector<ReducedProgram> apart(const ReducedProgram& p) {
    const Body& body = t_.bodies[p.f.body];
    const std::uint32_t n = body.num_instrs();
    std::vector<Tensor> values(body.num_values());
    std::vector<ReducedProgram> out;
    if (!record(p, values)) return out;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (t_.bodies[p.f.body].ops[i] == Op::constant) continue;
      Kept one(n, 0);
      one[i] = 1;
      std::optional<ReducedProgram> alone = cut_to(p, std::move(one), values);
      if (alone && std::ranges::find(alone->flags, 1) != alone->flags.end()) out.push_back(*std::move(alone));
    }
    return out;
  }

 private:
  struct Step {
    std::uint32_t instr, callee;
  };

  bool take(ReducedProgram& p, ReducedProgram now) {
    if (!test_.shows(now)) return false;
    p = std::move(now);
    return true;
  }

  // Calls without rules of their own go, here and in loops.
  Result<FunctionId> inlined(FunctionId f) {
    if (const PassResult* r = env_.memo.find("bisect_inline", f, {})) return r->f;
    const Body& body = t_.bodies[f.body];
    Builder b(t_, plain_, f, "");
    Rewriter w(b, f);
    for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
      const Instr in = body.instr(i);
      if (in.op == Op::constant) {
        w.copy(static_cast<InstrId>(i));
        continue;
      }
      w.begin(static_cast<InstrId>(i));
      const auto attrs = map_callees(t_.attrs, in.attrs, [&](FunctionId g) { return inlined(g); });
      if (!attrs) return attrs.error();
      const bool goes = in.op == Op::call && !has_own_rule(t_.attrs, in.attrs);
      const std::vector<ValueId> operands(w.operands(in).begin(), w.operands(in).end());
      const std::vector<ValueId> results =
          goes ? inline_body(b, t_.attrs.get_func(*attrs, Key::callee), operands) : b.emit_all(in.op, operands, *attrs);
      for (std::uint32_t k = 0; k < results.size(); ++k) w.map(in.result(k), results[k]);
    }
    const Result<FunctionId> made = w.seal();
    if (made) env_.memo.add("bisect_inline", f, {}, {*made, {}, {}, {}});
    return made;
  }

  bool is_tensor(const Body& body, ValueId v) const { return t_.types[body.type(v)].is_tensor(); }

  // --- the function itself

  void cut(ReducedProgram& p) {
    const Body& body = t_.bodies[p.f.body];
    std::vector<Tensor> values(body.num_values());
    if (!record(p, values)) return;
    Kept kept(body.num_instrs(), 1);
    for (std::uint32_t i = 0; i < kept.size(); ++i) kept[i] = body.ops[i] != Op::constant;
    ReducedProgram best = p;
    shrink(kept, [&](const Kept& less) {
      const std::optional<ReducedProgram> now = cut_to(p, less, values);
      return now && take(best, *now);
    });
    p = std::move(best);
  }

  // The value of every tensor of the function.
  bool record(const ReducedProgram& p, std::vector<Tensor>& values) {
    const Body& body = t_.bodies[p.f.body];
    Builder b(t_, plain_, p.f, "");
    Rewriter w(b, p.f);
    for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) w.copy(static_cast<InstrId>(i));
    std::vector<ValueId> all;
    std::vector<std::uint32_t> which;
    for (std::uint32_t v = 0; v < body.num_values() && !b.failed(); ++v) {
      if (!is_tensor(body, static_cast<ValueId>(v))) continue;
      all.push_back(w(static_cast<ValueId>(v)));
      which.push_back(v);
    }
    const Result<FunctionId> f = b.seal(all);
    if (!f) return false;
    const auto out = test_.values(*f, p.inputs);
    if (!out || out->size() != which.size()) return false;
    for (std::size_t k = 0; k < which.size(); ++k) values[which[k]] = (*out)[k];
    return true;
  }

  // Per value, where inputs have flags: does it come from one of them?
  Mask flagged(const ReducedProgram& p) const {
    const Body& body = t_.bodies[p.f.body];
    Mask on = p.flags;
    on.resize(body.num_values(), 0);
    for (std::uint32_t i = 0; i < body.num_instrs() && !p.flags.empty(); ++i) {
      const Instr in = body.instr(i);
      const bool any = std::ranges::any_of(in.operands, [&](ValueId v) { return on[index(v)] != 0; });
      for (std::uint32_t k = 0; k < in.num_results; ++k) on[index(in.result(k))] = any;
    }
    return on;
  }

  std::optional<ReducedProgram> cut_to(const ReducedProgram& p, Kept kept, const std::vector<Tensor>& values) {
    const FunctionId f = p.f;
    const Mask on = flagged(p);
    const Body& body = t_.bodies[f.body];
    const std::vector<InstrId> defs = definitions(body);
    // What is no tensor can't be an input: its instruction stays.
    std::vector<std::uint8_t> used(body.num_values(), 0);
    for (std::uint32_t i = body.num_instrs(); i-- > 0;) {
      const Instr in = body.instr(i);
      for (std::uint32_t k = 0; k < in.num_results; ++k)
        if (used[index(in.result(k))] && !is_tensor(body, in.result(k))) kept[i] = 1;
      if (kept[i])
        for (ValueId v : in.operands) used[index(v)] = 1;
    }
    Builder b(t_, plain_, f, "");
    std::vector<ValueId> map(body.num_values(), kNoValue);
    ReducedProgram out;
    for (std::uint32_t v = 0; v < body.num_values(); ++v) {
      const InstrId i = defs[v];
      const bool made = i != kNone<InstrId> && (kept[index(i)] || body.ops[index(i)] == Op::constant);
      if (!used[v] || made) continue;
      map[v] = b.param(body.types[v]);
      b.name_from(map[v], static_cast<ValueId>(v));
      out.inputs.push_back(values[v]);
      if (!p.flags.empty()) out.flags.push_back(on[v]);
    }
    std::vector<ValueId> results;
    for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
      const Instr in = body.instr(i);
      b.set_origin(static_cast<InstrId>(i));
      if (in.op == Op::constant) {
        map[index(in.result())] = b.constant(t_.attrs[in.attrs].constant);
      } else if (kept[i]) {
        std::vector<ValueId> operands;
        for (ValueId v : in.operands) operands.push_back(map[index(v)]);
        const std::vector<ValueId> made = b.emit_all(in.op, operands, in.attrs);
        for (std::uint32_t k = 0; k < made.size(); ++k) {
          map[index(in.result(k))] = made[k];
          b.name_from(made[k], in.result(k));
          const bool is_result = std::ranges::find(body.results, in.result(k)) != body.results.end();
          if (is_tensor(body, in.result(k)) && (is_result || !used[index(in.result(k))])) results.push_back(made[k]);
        }
      }
    }
    const Result<FunctionId> made = b.seal(results);
    if (!made || results.empty()) return std::nullopt;
    out.f = *made;
    return out;
  }

  // --- what it calls

  void within(ReducedProgram& p, std::vector<Step>& path) {
    const FunctionId f = at(p.f, path);
    const Body& body = t_.bodies[f.body];
    if (!path.empty()) {
      Kept kept(body.num_instrs(), 1);
      for (std::uint32_t i = 0; i < kept.size(); ++i) kept[i] = body.ops[i] != Op::constant;
      shrink(kept, [&](const Kept& less) {
        const Result<FunctionId> small = without(f, less);
        const Result<FunctionId> now = small ? replaced(p.f, path, 0, *small) : small;
        return now && take(p, {*now, p.inputs, p.flags});
      });
    }
    const FunctionId left = at(p.f, path);
    for (std::uint32_t i = 0; i < t_.bodies[left.body].num_instrs(); ++i) {
      const Body& now = t_.bodies[left.body];
      const std::size_t count = called(now.attrs[i]).size();
      for (std::uint32_t k = 0; k < count; ++k) {
        path.push_back({i, k});
        within(p, path);
        path.pop_back();
      }
    }
  }

  // In the order of map_callees.
  std::vector<FunctionId> called(AttrId attrs) {
    std::vector<FunctionId> out;
    (void)map_callees(t_.attrs, attrs, [&](FunctionId g) {
      out.push_back(g);
      return Result<FunctionId>(g);
    });
    return out;
  }

  FunctionId at(FunctionId f, std::span<const Step> path) {
    for (const Step& s : path) {
      const Body& body = t_.bodies[f.body];
      f = called(body.attrs[s.instr])[s.callee];
    }
    return f;
  }

  // `f` with another function at the end of the path.
  Result<FunctionId> replaced(FunctionId f, std::span<const Step> path, std::size_t depth, FunctionId with) {
    if (depth == path.size()) return with;
    const Body& body = t_.bodies[f.body];
    Builder b(t_, plain_, f, "");
    Rewriter w(b, f);
    for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
      const Instr in = body.instr(i);
      if (i != path[depth].instr) {
        w.copy(static_cast<InstrId>(i));
        continue;
      }
      w.begin(static_cast<InstrId>(i));
      std::uint32_t k = 0;
      const auto attrs = map_callees(t_.attrs, in.attrs, [&](FunctionId g) {
        return k++ == path[depth].callee ? replaced(g, path, depth + 1, with) : Result<FunctionId>(g);
      });
      if (!attrs) return attrs.error();
      const std::vector<ValueId> results = b.emit_all(in.op, w.operands(in), *attrs);
      for (std::uint32_t r = 0; r < results.size(); ++r) w.map(in.result(r), results[r]);
    }
    return w.seal();
  }

  // The same signature, with something that costs nothing in place of instructions that go.
  Result<FunctionId> without(FunctionId f, const Kept& kept) {
    const Body& body = t_.bodies[f.body];
    Builder b(t_, plain_, f, "");
    Rewriter w(b, f);
    for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
      const Instr in = body.instr(i);
      if (kept[i] || in.op == Op::constant) {
        w.copy(static_cast<InstrId>(i));
        continue;
      }
      w.begin(static_cast<InstrId>(i));
      for (std::uint32_t k = 0; k < in.num_results; ++k) {
        const TypeId type = body.type(in.result(k));
        const auto same = std::ranges::find_if(in.operands, [&](ValueId v) { return body.type(v) == type; });
        const bool tensor = t_.types[type].is_tensor();
        w.map(in.result(k), same != in.operands.end() ? w(*same) : tensor ? b.splat(type, 1) : b.zeros(type));
      }
    }
    return w.seal();
  }

  TransformEnv& env_;
  Tables& t_;
  const ReduceTest& test_;
  const BuilderOptions plain_;
};

}  // namespace

ReducedProgram reduce_program(TransformEnv& env, ReducedProgram p, const ReduceTest& test) {
  return Reducer(env, test).run(std::move(p));
}

std::vector<ReducedProgram> instructions_of(TransformEnv& env, const ReducedProgram& p, const ReduceTest& test) {
  return Reducer(env, test).apart(p);
}

}  // namespace tfvm
