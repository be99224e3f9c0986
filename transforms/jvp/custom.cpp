// Custom ops: by the rules that the declaration or the host gives, as calls that these ride on.
#include "transforms/custom.h"

#include <algorithm>

#include "transforms/jvp/rules.h"

namespace tfvm {

void jvp_custom(JvpCtx& c) {
  const Tables& t = c.tables();
  c.y = c.b.emit_all(c.in.op, c.x, c.in.attrs);
  if (c.b.failed()) return;
  if (std::ranges::none_of(c.y, [&](ValueId v) { return t.types.is_differentiable(c.b.type(v)); })) return;
  std::vector<TypeId> types;
  for (ValueId v : c.x) types.push_back(c.b.type(v));
  const Result<std::optional<AttrId>> call = custom_call(c.env, c.in, types);
  if (!call) return forward(c.b, call.error());
  if (!*call) {
    c.b.fail(Code::Unsupported, custom_name(t, c.in.attrs) +
                                    " has no derivative rule: give it `derivative`, `custom_jvp` or `custom_vjp` where "
                                    "it is declared or registered");
    return;
  }
  const Instr as_call{Op::call, **call, c.in.operands, c.in.first_result, c.in.num_results};
  JvpCtx on{c.env, c.b, c.mode, as_call, c.x, c.t, c.y, c.dy, c.text};
  jvp_call(on);
}

}  // namespace tfvm
