#include "vm/plan/flat.h"

#include <algorithm>

#include "bytecode/builder.h"

namespace tfvm {

namespace {

void add_callee(const Tables& t, AttrId dict, Key key, std::vector<FunctionId>& out) {
  const AttrId a = t.attrs.get(dict, key);
  if (t.attrs[a].kind == AttrKind::Func) out.push_back(t.attrs[a].func);
  for (AttrId item : t.attrs[a].items)
    if (t.attrs[item].kind == AttrKind::Func) out.push_back(t.attrs[item].func);
}

class Appender {
 public:
  explicit Appender(const Body& like) {
    Body& b = out_.body;
    b.num_params = like.num_params;
    b.types.assign(like.types.begin(), like.types.begin() + like.num_params);
    b.operand_begin.push_back(0);
    b.result_begin.push_back(b.num_params);
    b.full = like.full;
    b.effects = like.effects;
  }

  // One instruction, operands through `map`; its results are entered into `map`.
  void copy(const Body& from, const Instr& in, Origin origin, std::vector<ValueId>& map) {
    Body& b = out_.body;
    b.ops.push_back(in.op);
    b.attrs.push_back(in.attrs);
    for (ValueId v : in.operands) b.operands.push_back(map[index(v)]);
    b.operand_begin.push_back(static_cast<std::uint32_t>(b.operands.size()));
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      map[index(in.result(k))] = static_cast<ValueId>(b.types.size());
      b.types.push_back(from.type(in.result(k)));
    }
    b.result_begin.push_back(static_cast<std::uint32_t>(b.types.size()));
    out_.origins.push_back(origin);
  }

  void inline_call(const FlatBody& callee, const Instr& call, std::vector<ValueId>& map) {
    const Body& c = callee.body;
    std::vector<ValueId> inner(c.num_values(), kNoValue);
    for (std::uint32_t k = 0; k < c.num_params; ++k) inner[k] = map[index(call.operands[k])];
    for (std::uint32_t i = 0; i < c.num_instrs(); ++i) copy(c, c.instr(i), callee.origins[i], inner);
    for (std::uint32_t k = 0; k < call.num_results; ++k) map[index(call.result(k))] = inner[index(c.results[k])];
  }

  std::uint32_t size() const { return out_.body.num_instrs(); }
  FlatBody finish(const Body& source, const std::vector<ValueId>& map) {
    for (ValueId v : source.results) out_.body.results.push_back(map[index(v)]);
    return std::move(out_);
  }

 private:
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

FlatBody without_dead_code(const Tables& t, FlatBody flat) {
  const Body& b = flat.body;
  const std::vector<std::uint8_t> keep = live(t, b);
  if (std::ranges::all_of(keep, [](std::uint8_t k) { return k != 0; })) return flat;
  std::vector<ValueId> map(b.num_values(), kNoValue);
  for (std::uint32_t v = 0; v < b.num_params; ++v) map[v] = static_cast<ValueId>(v);
  Appender out(b);
  for (std::uint32_t i = 0; i < b.num_instrs(); ++i)
    if (keep[i]) out.copy(b, b.instr(i), flat.origins[i], map);
  return out.finish(b, map);
}

}  // namespace

std::vector<FunctionId> callees(const Tables& t, Op op, AttrId attrs) {
  std::vector<FunctionId> out;
  if (info(op).kind != OpKind::Control && op != Op::reduce) return out;
  for (const Key k : {Key::callee, Key::then, Key::else_, Key::branches, Key::cond, Key::body})
    add_callee(t, attrs, k, out);
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
  std::vector<ValueId> map(b.num_values(), kNoValue);
  for (std::uint32_t v = 0; v < b.num_params; ++v) map[v] = static_cast<ValueId>(v);
  Appender out(b);
  for (std::uint32_t i = 0; i < b.num_instrs(); ++i) {
    const Instr in = b.instr(i);
    if (in.op == Op::call) {
      const FlatBody& callee = flat_.at(t_.attrs.get_func(in.attrs, Key::callee));
      const std::uint32_t n = callee.body.num_instrs(), sum = out.size() + n;
      if ((n <= limits_.small && sum <= total) || sum + b.num_instrs() - i <= limits_.medium) {
        out.inline_call(callee, in, map);
        continue;
      }
    }
    out.copy(b, in, {f.debug, static_cast<InstrId>(i)}, map);
  }
  return without_dead_code(t_, out.finish(b, map));
}

}  // namespace tfvm
