#include "transforms/sparse/dependence.h"

#include <algorithm>

#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMaxKnown = std::int64_t{1} << 22;  // elements of values computed on the way
constexpr std::size_t kMaxKey = 4096;                      // elements of arguments of calls that are remembered

// Equal keys: equal calls. Empty: too long to be kept.
std::vector<std::uint32_t> call_key(FunctionId f, std::span<const Fact> args) {
  std::vector<std::uint32_t> key{index(f.body)};
  for (const Fact& a : args) {
    key.push_back(index(a.known));
    key.push_back(a.sets ? static_cast<std::uint32_t>(a.sets->size()) : kNoIndex);
    if (a.sets) key.insert(key.end(), a.sets->begin(), a.sets->end());
    if (key.size() > kMaxKey) return {};
  }
  return key;
}

}  // namespace

std::size_t Dependence::elements(TypeId t) const {
  const TypeTable& types = env_.tables.types;
  return types[t].is_tensor() ? static_cast<std::size_t>(types.elements(t)) : 1;
}

bool Dependence::evaluate(Op op, AttrId attrs, std::span<const ConstId> operands, std::span<const TypeId> results,
                          std::span<ConstId> out) {
  if (!env_.options.evaluator || op == Op::global) return false;
  for (TypeId t : results)
    if (!env_.tables.types[t].is_tensor() || env_.tables.types.elements(t) > kMaxKnown) return false;
  return env_.options.evaluator->eval(env_.tables, op, attrs, operands, results, out);
}

Fact Dependence::uniform(TypeId t, SetId s) const {
  const TypeTable& types = env_.tables.types;
  if (s == kEmptySet || (types[t].is_tensor() && !types.is_differentiable(t))) return {};
  return of(std::vector<SetId>(elements(t), s));
}

Fact Dependence::of(std::vector<SetId> sets) const {
  if (std::ranges::all_of(sets, [](SetId s) { return s == kEmptySet; })) return {};
  return {std::make_shared<const std::vector<SetId>>(std::move(sets)), kNone<ConstId>};
}

SetId Dependence::all(const Fact& f) {
  if (!f.sets) return kEmptySet;
  std::vector<SetId> v = *f.sets;
  return sets_.unite(v);
}

Fact Dependence::unite(const Fact& a, const Fact& b) {
  if (!a.sets || a.sets == b.sets) return {b.sets, kNone<ConstId>};
  if (!b.sets) return {a.sets, kNone<ConstId>};
  std::vector<SetId> v = *a.sets;
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = sets_.unite(v[i], (*b.sets)[i]);
  if (v == *a.sets) return {a.sets, kNone<ConstId>};
  return of(std::move(v));
}

std::vector<Fact> Dependence::run(FunctionId f, std::span<const Fact> args) {
  std::vector<std::uint32_t> key = call_key(f, args);
  if (key.empty()) return follow(f, args);
  if (const auto it = done_.find(key); it != done_.end()) return it->second;
  std::vector<Fact> results = follow(f, args);
  done_.emplace(std::move(key), results);
  return results;
}

std::vector<Fact> Dependence::follow(FunctionId f, std::span<const Fact> args) {
  const Body& body = env_.tables.bodies[f.body];
  std::vector<Fact> facts(args.begin(), args.end()), x, y;
  std::vector<ConstId> operands, values;
  std::vector<TypeId> types;
  facts.resize(body.num_values());
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::constant) {
      facts[index(in.first_result)].known = env_.tables.attrs[in.attrs].constant;
      continue;
    }
    x.clear();
    for (ValueId v : in.operands) x.push_back(facts[index(v)]);
    y.assign(in.num_results, {});
    if (std::ranges::all_of(x, &Fact::is_known) && in.num_results != 0 && info(in.op).kind != OpKind::Control) {
      operands.clear(), types.clear();
      for (const Fact& o : x) operands.push_back(o.known);
      for (std::uint32_t k = 0; k < in.num_results; ++k) types.push_back(body.type(in.result(k)));
      values.assign(in.num_results, kNone<ConstId>);
      if (evaluate(in.op, in.attrs, operands, types, values))
        for (std::uint32_t k = 0; k < in.num_results; ++k) y[k].known = values[k];
    }
    const bool depends = std::ranges::any_of(x, [](const Fact& o) { return o.sets != nullptr; });
    if (info(in.op).kind == OpKind::Control || (depends && jvp_entry(in.op).kind != JvpKind::Zero)) {
      DepCtx c{*this, body, in, x, y};
      depend(c);
    }
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      const TypeId type = body.type(in.result(k));
      if (env_.tables.types[type].is_tensor() && !env_.tables.types.is_differentiable(type)) y[k].sets = nullptr;
      facts[index(in.result(k))] = std::move(y[k]);
    }
  }
  std::vector<Fact> out;
  for (ValueId v : body.results) out.push_back(facts[index(v)]);
  return out;
}

}  // namespace tfvm
