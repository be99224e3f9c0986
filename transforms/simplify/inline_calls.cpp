#include "transforms/simplify/inline_calls.h"

#include <algorithm>
#include <optional>

#include "bytecode/own_rules.h"
#include "bytecode/rewriter.h"

namespace tfvm {

namespace {

class InlineCalls {
 public:
  InlineCalls(TransformEnv& env, FunctionId f, InlineSizes most)
      : env_(env),
        f_(f),
        most_(most),
        body_(env.tables.bodies[f.body]),
        b_(env.tables, env.options, f, ""),
        w_(b_, f) {}

  Result<FunctionId> run() {
    if (body_.full) return f_;
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b_.failed(); ++i) {
      const Instr in = body_.instr(i);
      const Result<std::optional<FunctionId>> callee = taken(in);
      if (!callee) return callee.error();
      if (*callee)
        replace(i, in, **callee);
      else
        w_.copy(static_cast<InstrId>(i));
    }
    return w_.seal();
  }

 private:
  Result<std::optional<FunctionId>> taken(const Instr& in) {
    const AttrTable& at = env_.tables.attrs;
    const bool is_plain = in.op == Op::call && !at.has(in.attrs, Key::policy) && !has_own_rule(at, in.attrs);
    if (!is_plain || b_.body().num_instrs() >= most_.caller) return std::optional<FunctionId>{};
    const Result<FunctionId> f = inline_calls(env_, at.get_func(in.attrs, Key::callee), most_);
    if (!f) return f.error();
    const Body& callee = env_.tables.bodies[f->body];
    const bool fits = !callee.full && callee.num_instrs() <= most_.callee;
    return fits ? std::optional(*f) : std::nullopt;
  }

  void replace(std::uint32_t i, const Instr& call, FunctionId f) {
    const Body& callee = env_.tables.bodies[f.body];
    std::vector<ValueId> map(callee.num_values(), kNoValue);
    w_.begin(static_cast<InstrId>(i));
    std::ranges::copy(w_.operands(call), map.begin());
    for (std::uint32_t k = 0; k < callee.num_instrs() && !b_.failed(); ++k) {
      b_.set_loc(env_.tables.debugs.find_loc(f.debug, static_cast<InstrId>(k)));
      copy_mapped(b_, callee, callee.instr(k), map);
    }
    b_.set_loc({});
    for (std::uint32_t k = 0; k < call.num_results && !b_.failed(); ++k) {
      const ValueId v = map[index(callee.results[k])];
      w_.map(call.result(k), v);
      b_.name_from(v, call.result(k));
    }
  }

  TransformEnv& env_;
  const FunctionId f_;
  const InlineSizes most_;
  const Body& body_;
  Builder b_;
  Rewriter w_;
};

}  // namespace

Result<FunctionId> inline_calls(TransformEnv& env, FunctionId f, InlineSizes most) {
  const std::int64_t key[] = {most.callee, most.caller};
  if (const PassResult* r = env.memo.find("inline_calls", f, key)) return r->f;
  const Result<FunctionId> made = InlineCalls(env, f, most).run();
  if (made) env.memo.add("inline_calls", f, key, {*made, {}, {}, {}});
  return made;
}

}  // namespace tfvm
