#include "vm/evaluator.h"

#include "bytecode/hash.h"
#include "vm/plan/planner.h"

namespace tfvm {

namespace {

constexpr std::size_t kMaxPlans = 4096;

FlatBody one_instruction(Op op, AttrId attrs, std::span<const TypeId> operands, std::span<const TypeId> results) {
  FlatBody flat;
  Body& b = flat.body;
  b.num_params = static_cast<std::uint32_t>(operands.size());
  b.types.assign(operands.begin(), operands.end());
  b.types.insert(b.types.end(), results.begin(), results.end());
  b.ops = {op};
  b.attrs = {attrs};
  b.operand_begin = {0, b.num_params};
  b.result_begin = {b.num_params, b.num_values()};
  for (std::uint32_t k = 0; k < b.num_params; ++k) b.operands.push_back(b.param(k));
  for (std::uint32_t v = b.num_params; v < b.num_values(); ++v) b.results.push_back(static_cast<ValueId>(v));
  flat.origins.resize(1);
  return flat;
}

}  // namespace

std::size_t PlanEvaluator::Hash::operator()(const Key& k) const {
  return hash_span(std::span<const TypeId>(k.operands), hash_mix(static_cast<std::uint64_t>(k.op), index(k.attrs)));
}

PlanRef PlanEvaluator::plan(const Tables& tables, const Key& key, std::span<const TypeId> results) const {
  if (const auto it = plans_.find(key); it != plans_.end()) return it->second;
  if (plans_.size() >= kMaxPlans) plans_.clear();
  const FlatBody flat = one_instruction(key.op, key.attrs, key.operands, results);
  const auto no_callee = [](FunctionId) { return PlanRef(); };
  Result<PlanRef> made = make_plan(tables, flat, FunctionId{}, nullptr, PlanOptions{}, no_callee);
  return plans_.emplace(key, made ? *made : PlanRef()).first->second;
}

bool PlanEvaluator::eval(Tables& tables, Op op, AttrId attrs, std::span<const ConstId> operands,
                         std::span<const TypeId> result_types, std::span<ConstId> out) const {
  if (info(op).kind == OpKind::Control || info(op).effect != OpEffect::Pure || op == Op::constant || op == Op::reduce)
    return false;
  Key key{op, attrs, {}};
  std::vector<std::byte*> in, results;
  for (ConstId c : operands) {
    key.operands.push_back(tables.consts[c].type);
    // Plans never write to a parameter.
    in.push_back(const_cast<std::byte*>(tables.consts[c].bytes.data()));
  }
  const PlanRef p = plan(tables, key, result_types);
  if (!p) return false;
  std::int64_t total = 0;
  for (TypeId type : result_types) total += align_up(tables.types.bytes(type));
  bytes_.resize(static_cast<std::size_t>(total + kAlignment));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes_.data());
  std::byte* at = bytes_.data() + (align_up(static_cast<std::int64_t>(begin)) - static_cast<std::int64_t>(begin));
  for (TypeId type : result_types) {
    results.push_back(at);
    at += align_up(tables.types.bytes(type));
  }
  if (!context_.run(*p, in, results)) return false;
  for (std::size_t k = 0; k < result_types.size(); ++k)
    out[k] = tables.consts.intern(result_types[k],
                                  {results[k], static_cast<std::size_t>(tables.types.bytes(result_types[k]))});
  return true;
}

}  // namespace tfvm
