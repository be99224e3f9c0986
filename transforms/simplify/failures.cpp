#include "transforms/simplify/failures.h"

#include <algorithm>

namespace tfvm {

namespace {

// The functions among attributes, in lists too.
template <class Fn>
bool any_function(const AttrTable& at, AttrId id, Fn fn) {
  const Attr& a = at[id];
  if (a.kind == AttrKind::Func) return fn(a.func);
  return std::ranges::any_of(a.items, [&](AttrId item) { return any_function(at, item, fn); });
}

}  // namespace

bool Failures::may_fail(FunctionId f) {
  if (const auto it = known_.find(f.body); it != known_.end()) return it->second;
  const Body& body = t_.bodies[f.body];
  bool fails = body.effects;
  for (std::uint32_t i = 0; i < body.num_instrs() && !fails; ++i) fails = may_fail(body.ops[i], body.attrs[i]);
  return known_[f.body] = fails;
}

bool Failures::may_fail(Op op, AttrId attrs) {
  if (op == Op::constant || op == Op::pack) return false;  // a pack names its maker but does not run it
  if (op == Op::while_ || info(op).effect != OpEffect::Pure) return true;
  const AttrTable& at = t_.attrs;
  const AttrId mode = at.get(attrs, Key::mode);
  if (at[mode].kind == AttrKind::Str && at.get_str(attrs, Key::mode) == "error") return true;
  return any_function(at, attrs, [&](FunctionId f) { return may_fail(f); });
}

}  // namespace tfvm
