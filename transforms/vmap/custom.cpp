// Custom ops: by the rule custom_vmap, (arguments with a leading batch dim…) -> (results with one…), else lane by lane.
// Derivative rules go along: the op is batched as a call that they ride on.
#include "transforms/custom.h"

#include <algorithm>

#include "bytecode/externs.h"
#include "bytecode/nested_types.h"
#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

// A rule may use its op: that one is batched without rules riding on it.
class InRules {
 public:
  InRules(TransformEnv& env, AttrId op) : env_(env) { env_.batching.push_back(op); }
  ~InRules() { env_.batching.pop_back(); }
  InRules(const InRules&) = delete;

 private:
  TransformEnv& env_;
};

// The batched op as a function of all arguments; no function where it has no rule. Fails where that doesn't fit.
Result<FunctionId> by_rule(BatchCtx& c, const ExternInfo& op, const Body& source) {
  Tables& t = c.t();
  std::vector<TypeId> in, expected;
  const auto add = [&](std::vector<TypeId>& to, TypeId type) {
    const std::optional<TypeId> wide = batched_type(t.types, type, c.axis.size);
    if (wide) to.push_back(*wide);
    return wide.has_value();
  };
  bool fits = true;
  for (ValueId v : c.in.operands) fits = fits && add(in, source.type(v));
  for (std::uint32_t k = 0; k < c.in.num_results; ++k) fits = fits && add(expected, source.type(c.in.result(k)));
  if (!fits) return Error{Code::Type, custom_name(t, c.in.attrs) + " a batch of its arguments is too large"};
  const Result<FunctionId> rule = op.rule(Key::custom_vmap, in);
  if (rule && *rule && t.body(*rule).result_types() == expected) return rule;
  return Error{rule ? Code::Type : rule.error().code,
               custom_name(t, c.in.attrs) + " its rule custom_vmap can't be made: " +
                   (rule ? "it must give each result with a leading batch dim" : rule.error().message)};
}

}  // namespace

void batch_custom(BatchCtx& c) {
  const AttrTable& at = c.attrs();
  const Body& source = c.t().body(c.source);
  const AttrId name = at.get(c.in.attrs, Key::op);
  if (!at.get_bool(c.in.attrs, Key::bare) && std::ranges::find(c.env.batching, name) == c.env.batching.end()) {
    std::vector<TypeId> types;
    for (ValueId v : c.in.operands) types.push_back(source.type(v));
    // Where its rules can't be made the op is batched without: who needs them says why.
    if (const Result<std::optional<AttrId>> call = custom_call(c.env, c.in, types); call && *call) {
      const Instr as_call{Op::call, **call, c.in.operands, c.in.first_result, c.in.num_results};
      BatchCtx on{c.env, c.b, c.axis, c.source, as_call, c.x, c.batched, c.out, c.out_batched};
      const InRules guard(c.env, name);
      return batch_call(on);
    }
  }
  const ExternInfo* op = find_extern(c.t(), c.in.attrs);
  if (!op || !op->has_rule || !op->has_rule(Key::custom_vmap) || c.in.op == Op::auto_functionalized_v2)
    return batch_by_lanes(c);
  const Result<FunctionId> rule = by_rule(c, *op, source);
  if (!rule) return forward_error(c.b, rule.error());
  std::vector<ValueId> args;
  for (std::size_t k = 0; k < c.x.size(); ++k) args.push_back(c.with_batch(k));
  for (ValueId v : c.b.emit_all(Op::call, args, c.t().attrs.dict({{Key::callee, *rule}}))) c.push(v);
}

}  // namespace tfvm
