// The walk: forward once to know what is linear and to copy what is not, backward once to carry cotangents.
#include <algorithm>

#include "bytecode/externs.h"
#include "bytecode/rewriter.h"
#include "transforms/custom.h"
#include "transforms/transpose/rules.h"

namespace tfvm {

Mask TransposeCtx::linear_operands() const {
  Mask m;
  for (std::size_t k = 0; k < in.operands.size(); ++k) m.push_back(is_linear(k));
  return m;
}

std::vector<ValueId> TransposeCtx::known_operands(std::size_t from) const {
  std::vector<ValueId> out;
  for (std::size_t k = from; k < in.operands.size(); ++k)
    if (!is_linear(k)) out.push_back(known(k));
  return out;
}

Mask TransposeCtx::ct_mask() const {
  Mask m;
  for (std::size_t k = 0; k < in.num_results; ++k) m.push_back(ct(k) != kNoValue);
  return m;
}

std::vector<ValueId> TransposeCtx::active_cts() const {
  std::vector<ValueId> out;
  for (std::size_t k = 0; k < in.num_results; ++k)
    if (ct(k) != kNoValue) out.push_back(ct(k));
  return out;
}

void TransposeCtx::add(std::size_t k, ValueId v) {
  if (!is_linear(k) || v == kNoValue || is_zero(b, v)) return;
  ValueId& sum = cts[index(in.operands[k])];
  sum = sum == kNoValue ? v : add_values(b, sum, v);
  name_ct(sum, in.operands[k]);
}

void TransposeCtx::name_ct(ValueId v, ValueId of) {
  if (!sibling) return b.name_from(v, of, "ct");
  if (index(of) >= sibling->values.size()) return;
  const ValueName from = sibling->values[index(of)];
  if (from.origin == kNoValue) return;
  const StringTable& strings = b.tables().strings;
  b.name_from(v, from.origin, from.text == kNone<StrId> ? "ct" : std::string(strings[from.text]) + ".ct");
}

void TransposeCtx::add_all(std::size_t from, std::span<const ValueId> values, const Mask& has) {
  if (b.failed()) return;
  std::size_t next = 0, n = 0;
  for (std::size_t k = from; k < in.operands.size(); ++k)
    if (is_linear(k) && has[n++]) add(k, values[next++]);
}

void TransposeCtx::refuse() {
  if (is_custom(in.op))
    return void(b.fail(Code::Unsupported, custom_name(b.tables(), in.attrs) +
                                              " can't be transposed: a derivative rule may use custom ops of primals, "
                                              "not of tangents"));
  b.fail(Code::Unsupported, "[transpose] " + std::string(name(in.op)) +
                                " is not linear in these operands: a derivative rule must be linear in its tangents");
}

namespace {

struct Walk {
  TransformEnv& env;
  Builder& b;
  const Body& body;
  const DebugInfo& debug;
  Kin kin;
  std::vector<ValueId> map, cts;
  std::vector<std::uint8_t> linear;

  Walk(TransformEnv& e, Builder& builder, FunctionId f, Kin k)
      : env(e), b(builder), body(e.tables.bodies[f.body]), debug(e.tables.debugs[f.debug]), kin(k) {
    map.assign(body.num_values(), kNoValue);
    cts.assign(body.num_values(), kNoValue);
    linear.assign(body.num_values(), 0);
    b.reserve(body.num_instrs(), body.num_values());
  }

  void set_origin(std::uint32_t i) {
    const bool far = kin == Kin::Sibling;
    b.set_origin(!far ? static_cast<InstrId>(i) : i < debug.origin.size() ? debug.origin[i] : kNone<InstrId>);
  }

  void forward(std::uint32_t i) {
    const Instr in = body.instr(i);
    if (std::ranges::any_of(in.operands, [&](ValueId v) { return linear[index(v)] != 0; })) {
      for (std::uint32_t k = 0; k < in.num_results; ++k) linear[index(in.result(k))] = 1;
      return;
    }
    set_origin(i);
    copy_mapped(b, body, in, map);
  }

  void backward(std::uint32_t i) {
    const Instr in = body.instr(i);
    bool any_ct = false;
    for (std::uint32_t k = 0; k < in.num_results; ++k)
      any_ct = any_ct || (linear[index(in.result(k))] && cts[index(in.result(k))] != kNoValue);
    if (!any_ct) return;
    set_origin(i);
    TransposeCtx c{env, b, body, in, map, linear, cts, kin == Kin::Sibling ? &debug : nullptr};
    const TransposeRule rule = transpose_rule(in.op);
    if (!rule) return c.refuse();
    rule(c);
  }
};

}  // namespace

std::vector<ValueId> transpose_into(TransformEnv& env, Builder& b, FunctionId f, const Mask& linear,
                                    std::span<const ValueId> known, std::span<const ValueId> cts, Kin kin) {
  Walk w(env, b, f, kin);
  std::size_t next = 0;
  for (std::uint32_t k = 0; k < w.body.num_params; ++k) {
    w.linear[k] = linear[k];
    if (!linear[k]) w.map[k] = known[next++];
  }
  for (std::uint32_t i = 0; i < w.body.num_instrs() && !b.failed(); ++i) w.forward(i);
  for (std::size_t k = 0; k < cts.size() && !b.failed(); ++k) {
    const std::uint32_t v = index(w.body.results[k]);
    if (cts[k] == kNoValue || !w.linear[v]) continue;
    w.cts[v] = w.cts[v] == kNoValue ? cts[k] : add_values(b, w.cts[v], cts[k]);
  }
  for (std::uint32_t i = w.body.num_instrs(); i-- > 0 && !b.failed();) w.backward(i);
  std::vector<ValueId> out;
  for (std::uint32_t k = 0; k < w.body.num_params; ++k)
    if (linear[k]) out.push_back(b.failed() ? kNoValue : w.cts[k]);
  return out;
}

Result<Transposed> transpose(TransformEnv& env, FunctionId f, const Mask& linear, const Mask& cts, const Mask& force) {
  const std::vector<std::int64_t> key = memo_key({&linear, &cts, &force});
  if (const PassResult* r = env.memo.find("transpose", f, key)) return Transposed{r->f, r->mask};
  const Body& body = env.tables.bodies[f.body];
  Builder b(env.tables, env.options, f, "transpose");
  std::vector<ValueId> known, ct(body.results.size(), kNoValue);
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    if (linear[k]) continue;
    known.push_back(b.param(body.types[k]));
    b.name_from(known.back(), body.param(k));
  }
  for (std::size_t k = 0; k < ct.size(); ++k) {
    if (!cts[k]) continue;
    ct[k] = b.param(body.type(body.results[k]));
    b.name_from(ct[k], body.results[k], "ct");
  }
  const std::vector<ValueId> out = transpose_into(env, b, f, linear, known, ct, Kin::Parent);
  Transposed result;
  std::vector<ValueId> results;
  for (std::uint32_t k = 0; k < body.num_params && !b.failed(); ++k) {
    if (!linear[k]) continue;
    const std::size_t n = result.in.size();
    const bool forced = n < force.size() && force[n];
    result.in.push_back(forced || out[n] != kNoValue);
    if (result.in.back()) results.push_back(out[n] != kNoValue ? out[n] : b.zeros(body.types[k]));
  }
  const Result<FunctionId> sealed = b.seal(results);
  if (!sealed) return note_pass(env.tables, sealed.error(), "reverse mode", f);
  result.f = *sealed;
  env.memo.add("transpose", f, key, {result.f, result.in, {}, {}});
  return result;
}

}  // namespace tfvm
