// Elementwise ops by their text rules; ops that are linear by themselves; ops that only say something about a value.
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

// The text rule for operand k of the op, for values of one type.
FunctionId text_rule(JvpCtx& c, std::size_t k, TypeId type) {
  const std::pair key{static_cast<std::uint32_t>(c.in.op) * 8 + static_cast<std::uint32_t>(k), type};
  if (const auto known = c.text.find(key); known != c.text.end()) return known->second;
  const OpInfo& row = info(c.in.op);
  const std::string name = std::string(row.name) + "." + std::string(row.operands[k].name);
  if (!c.env.derivatives || !c.env.derivatives->has(name)) {
    c.b.fail(Code::Unsupported, "[jvp] " + std::string(row.name) + " has no derivative rule @" + name);
    return {};
  }
  const std::vector<TypeId> args(c.x.size() + 2, type);
  Result<FunctionId> f = c.env.derivatives->instantiate(name, args);
  if (!f) {
    forward(c.b, f.error());
    return {};
  }
  return c.text[key] = *f;
}

}  // namespace

void jvp_text(JvpCtx& c) {
  const TypeId type = c.b.type(c.y[0]);
  if (!is_float(c.b.dtype(c.y[0])) || is_complex(c.b.dtype(c.x[0]))) {
    c.b.fail(Code::Unsupported, "[jvp] " + std::string(name(c.in.op)) + " of complex values has no derivative rule");
    return;
  }
  std::vector<ValueId> args(c.x.begin(), c.x.end());
  args.push_back(c.y[0]);
  args.push_back(kNoValue);
  for (std::size_t k = 0; k < c.x.size() && !c.b.failed(); ++k) {
    if (!c.active(k)) continue;
    const FunctionId rule = text_rule(c, k, type);
    if (!rule) return;
    args.back() = c.t[k];
    const ValueId d = inline_body(c.b, rule, args)[0];
    c.dy[0] = c.add(c.dy[0], is_zero(c.b, d) ? kNoValue : d);
  }
}

void jvp_linear(JvpCtx& c, std::uint32_t linear) {
  std::vector<ValueId> operands(c.x.begin(), c.x.end());
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (linear >> std::min<std::size_t>(k, 31) & 1) operands[k] = c.tangent(k);
  c.dy[0] = c.b.emit(c.in.op, operands, c.in.attrs);
}

void jvp_same(JvpCtx& c) { c.dy[0] = c.t[0]; }

void jvp_barrier(JvpCtx& c) {
  std::vector<ValueId> tangents;
  for (ValueId v : c.t)
    if (v != kNoValue) tangents.push_back(v);
  const std::vector<ValueId> after = c.b.emit_all(Op::optimization_barrier, tangents, c.in.attrs);
  for (std::size_t k = 0, n = 0; k < c.t.size() && n < after.size(); ++k)
    if (c.active(k)) c.dy[k] = after[n++];
}

}  // namespace tfvm
