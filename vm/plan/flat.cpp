#include "vm/plan/flat.h"

#include <algorithm>

#include "bytecode/builder.h"

namespace tfvm {

namespace {

// Values of one body in another: a tensor is one value there, a pack its leaves.
class Mapping {
 public:
  Mapping(const Tables& t, const Body& from) : t_(t), from_(from), one_(from.num_values(), kNoValue) {}
  bool is_pack(ValueId v) const { return t_.types[from_.type(v)].kind == TypeKind::Pack; }
  std::span<const ValueId> operator[](ValueId v) const {
    if (!is_pack(v)) return {&one_[index(v)], 1};
    return many_.at(index(v));
  }
  void set(ValueId v, std::span<const ValueId> now) {
    if (is_pack(v)) {
      many_[index(v)].assign(now.begin(), now.end());
    } else {
      one_[index(v)] = now.front();
    }
  }

 private:
  const Tables& t_;
  const Body& from_;
  std::vector<ValueId> one_;
  std::unordered_map<std::uint32_t, std::vector<ValueId>> many_;
};

class Appender {
 public:
  Appender(Tables& t, const Body& like) : t_(t) {
    out_.body.operand_begin.push_back(0);
    out_.body.full = like.full;
    out_.body.effects = like.effects;
  }

  void params(const Body& from, Mapping& map) {
    Body& b = out_.body;
    for (std::uint32_t k = 0; k < from.num_params; ++k) define(from, from.param(k), map);
    b.num_params = b.num_values();
    b.result_begin.push_back(b.num_params);
  }

  // One instruction, operands through `map`; its results are entered into `map`.
  void copy(const Body& from, const Instr& in, StepOrigin origin, Mapping& map) {
    if (in.op == Op::pack || in.op == Op::unpack) return repack(from, in, map);
    Body& b = out_.body;
    b.ops.push_back(in.op);
    b.attrs.push_back(attrs(from, in, map));
    for (ValueId v : in.operands) b.operands.insert(b.operands.end(), map[v].begin(), map[v].end());
    b.operand_begin.push_back(static_cast<std::uint32_t>(b.operands.size()));
    for (std::uint32_t k = 0; k < in.num_results; ++k) define(from, in.result(k), map);
    b.result_begin.push_back(b.num_values());
    out_.origins.push_back(origin);
  }

  void inline_call(const Body& from, const FlatBody& callee, const Instr& call, Mapping& map) {
    const Body& c = callee.body;
    Mapping inner(t_, c);
    std::uint32_t p = 0;
    for (ValueId v : call.operands)
      for (ValueId leaf : map[v]) inner.set(c.param(p++), {&leaf, 1});
    for (std::uint32_t i = 0; i < c.num_instrs(); ++i) copy(c, c.instr(i), callee.origins[i], inner);
    std::size_t r = 0;
    std::vector<ValueId> leaves;
    for (std::uint32_t k = 0; k < call.num_results; ++k) {
      leaves.clear();
      const std::size_t n = leaf_types(t_, from.type(call.result(k))).size();
      for (std::size_t j = 0; j < n; ++j) leaves.push_back(inner[c.results[r++]].front());
      map.set(call.result(k), leaves);
    }
  }

  std::uint32_t size() const { return out_.body.num_instrs(); }
  FlatBody finish(const Body& source, const Mapping& map) {
    for (ValueId v : source.results) out_.body.results.insert(out_.body.results.end(), map[v].begin(), map[v].end());
    return std::move(out_);
  }

 private:
  void define(const Body& from, ValueId v, Mapping& map) {
    Body& b = out_.body;
    if (!map.is_pack(v)) {
      const auto now = static_cast<ValueId>(b.types.size());
      b.types.push_back(from.type(v));
      return map.set(v, {&now, 1});
    }
    std::vector<ValueId> leaves;
    for (TypeId leaf : leaf_types(t_, from.type(v))) {
      leaves.push_back(static_cast<ValueId>(b.types.size()));
      b.types.push_back(leaf);
    }
    map.set(v, leaves);
  }

  void repack(const Body& from, const Instr& in, Mapping& map) {
    std::vector<ValueId> leaves;
    for (ValueId v : in.operands) leaves.insert(leaves.end(), map[v].begin(), map[v].end());
    if (in.op == Op::pack) return map.set(in.result(), leaves);
    std::size_t at = 0;
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      const std::size_t n = leaf_types(t_, from.type(in.result(k))).size();
      map.set(in.result(k), std::span(leaves).subspan(at, n));
      at += n;
    }
  }

  // Loops count their operands and tapes: a pack counts as its leaves.
  AttrId attrs(const Body& from, const Instr& in, const Mapping& map) {
    if (in.op != Op::scan && in.op != Op::while_ && in.op != Op::tape_scan) return in.attrs;
    AttrId attrs = in.attrs;
    const auto set = [&](Key key, std::size_t n) {
      attrs = t_.attrs.with(attrs, key, t_.attrs.of(static_cast<std::int64_t>(n)));
    };
    std::size_t at = in.op == Op::tape_scan ? 1 : 0;
    for (const Key key : {Key::cond_consts, Key::body_consts, Key::consts, Key::carry}) {
      if (!t_.attrs.has(attrs, key)) continue;
      std::size_t n = 0;
      for (std::int64_t k = t_.attrs.get_int(in.attrs, key); k > 0; --k) n += map[in.operands[at++]].size();
      set(key, n);
    }
    if (in.op != Op::while_) return attrs;
    const auto tapes = static_cast<std::uint32_t>(t_.attrs.get_int(in.attrs, Key::tapes));
    std::size_t leaves = 0;
    for (std::uint32_t k = in.num_results - tapes; k < in.num_results; ++k)
      leaves += leaf_types(t_, from.type(in.result(k))).size();
    set(Key::tapes, leaves);
    return attrs;
  }

  Tables& t_;
  FlatBody out_;
};

std::vector<std::uint8_t> live(const Tables& t, const Body& b) {
  std::vector<std::uint8_t> keep(b.num_instrs(), b.full), used(b.num_values(), 0);
  for (ValueId v : b.results) used[index(v)] = 1;
  for (std::uint32_t i = b.num_instrs(); i-- > 0;) {
    bool k = keep[i] || !is_pure(t, b.ops[i], b.attrs[i]);
    for (std::uint32_t v = b.result_begin[i]; !k && v < b.result_begin[i + 1]; ++v) k = used[v];
    if (!k) continue;
    keep[i] = 1;
    for (ValueId v : b.instr(i).operands) used[index(v)] = 1;
  }
  return keep;
}

FlatBody without_dead_code(Tables& t, FlatBody flat) {
  const Body& b = flat.body;
  const std::vector<std::uint8_t> keep = live(t, b);
  if (std::ranges::all_of(keep, [](std::uint8_t k) { return k != 0; })) return flat;
  Mapping map(t, b);
  Appender out(t, b);
  out.params(b, map);
  for (std::uint32_t i = 0; i < b.num_instrs(); ++i)
    if (keep[i]) out.copy(b, b.instr(i), flat.origins[i], map);
  return out.finish(b, map);
}

}  // namespace

std::vector<TypeId> leaf_types(const Tables& t, TypeId type) {
  if (t.types[type].kind != TypeKind::Pack) return {type};
  std::vector<TypeId> out;
  for (TypeId item : t.types[type].items)
    for (TypeId leaf : leaf_types(t, item)) out.push_back(leaf);
  return out;
}

std::vector<FunctionId> Flattener::add(FunctionId root) {
  struct Visit {
    FunctionId f;
    std::vector<FunctionId> next;
  };
  std::vector<FunctionId> order;
  std::unordered_map<FunctionId, bool> seen;
  std::vector<Visit> stack;
  const auto enter = [&](FunctionId f) {
    if (!seen.emplace(f, true).second) return;
    Visit v{f, {}};
    const Body& b = t_.body(f);
    for (std::uint32_t i = b.num_instrs(); i-- > 0;)
      for (FunctionId g : callees(t_, b.ops[i], b.attrs[i])) v.next.push_back(g);
    stack.push_back(std::move(v));
  };
  enter(root);
  while (!stack.empty()) {
    if (stack.back().next.empty()) {
      const FunctionId f = stack.back().f;
      stack.pop_back();
      if (!flat_.contains(f)) flat_.emplace(f, flatten(f));
      order.push_back(f);
      continue;
    }
    const FunctionId g = stack.back().next.back();
    stack.back().next.pop_back();
    enter(g);
  }
  return order;
}

FlatBody Flattener::flatten(FunctionId f) const {
  const Body& b = t_.body(f);
  const std::uint32_t total = std::max(limits_.total, 4 * b.num_instrs());
  Mapping map(t_, b);
  Appender out(t_, b);
  out.params(b, map);
  for (std::uint32_t i = 0; i < b.num_instrs(); ++i) {
    const Instr in = b.instr(i);
    if (in.op == Op::call) {
      const FlatBody& callee = flat_.at(t_.attrs.get_func(in.attrs, Key::callee));
      const std::uint32_t n = callee.body.num_instrs(), sum = out.size() + n;
      if ((n <= limits_.small && sum <= total) || sum + b.num_instrs() - i <= limits_.medium) {
        out.inline_call(b, callee, in, map);
        continue;
      }
    }
    out.copy(b, in, {f.debug, static_cast<InstrId>(i)}, map);
  }
  return without_dead_code(t_, out.finish(b, map));
}

}  // namespace tfvm
