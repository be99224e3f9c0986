// One body: its instructions in order, each by the rule of its kind.
#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/expand/writes.h"
#include "functionalize/pass.h"

namespace tfvm::functional {

namespace {

using Rule = void (*)(Walk&, const Instr&);

Rule rule_of(Op op) {
  switch (op) {
    case Op::call:
      return walk_call;
    case Op::cond:
    case Op::switch_:
      return walk_branches;
    case Op::while_:
      return walk_while;
    case Op::scan:
      return walk_scan;
    case Op::extern_:
      return walk_extern;
    default:
      return nullptr;
  }
}

// A write into places that its operands tell, an update of the target even where that is a whole base.
bool is_update(Op op) {
  return op == Op::dynamic_update_slice_ || op == Op::scatter_ || op == Op::scatter_add_ || op == Op::index_put_;
}

}  // namespace

Walk::Walk(Pass& pass, FunctionId f, const Pattern& pattern)
    : t(pass.tables()),
      b(pass.tables(), pass.options().builder, f, "functionalize"),
      bases(b),
      body(pass.tables().body(f)),
      pass_(pass),
      f_(f),
      pattern_(pattern),
      refs_(body.num_values()) {
  for (TypeId type : pattern.bases) bases.add(b.param(type));
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    refs_[k] = pattern.args[k];
    if (refs_[k].chain.empty()) b.name_from(bases.now(refs_[k].base), body.param(k));
  }
}

std::vector<ValueId> Walk::read(std::span<const ValueId> old) {
  std::vector<ValueId> out;
  for (ValueId v : old) out.push_back(read(v));
  return out;
}

void Walk::define(ValueId old, ValueId now) {
  if (!b.failed()) b.name_from(now, old);
  refs_[index(old)] = {bases.add(b.failed() ? kNoValue : now), {}};
}

bool Walk::fail(const Error& e) {
  if (!b.failed() && e.loc.line != 0) b.set_loc(e.loc);
  b.fail(e.code, e.message);
  return false;
}

void Walk::plain(const Instr& in) {
  if (in.op == Op::constant) return define(in.result(), b.constant(t.attrs[in.attrs].constant));
  const std::vector<ValueId> operands = read(in.operands);
  if (in.op == Op::clone && body.full) return define(in.result(), operands[0]);  // a base of its own is a copy
  const std::vector<ValueId> results = b.emit_all(in.op, operands, in.attrs);
  for (std::uint32_t k = 0; k < in.num_results; ++k) define(in.result(k), k < results.size() ? results[k] : kNoValue);
}

void Walk::write(const Instr& in) {
  const std::vector<ValueId> operands = read(in.operands);
  const ValueId u = written_value(b, in.op, operands, in.attrs);
  if (!b.failed()) b.name_from(u, in.result());
  const Ref target = ref(in.operands[0]);
  const bool inplace = t.attrs.get_bool(in.attrs, Key::inplace);
  bases.write(target, u, inplace, write_name(t, in.op, in.attrs));
  if (inplace && !is_update(in.op) && !b.failed() && bases.is_whole(target))
    b.fail(Code::Type, "[" + write_name(t, in.op, in.attrs) +
                           "] {inplace=true}: it writes the whole tensor, whose new value is a tensor of its own, so " +
                           std::to_string(t.types.bytes(bases.type(target.base))) + " bytes would be copied");
  set(in.result(), target);
}

void Walk::instr(const Instr& in) {
  if (body.full && is_write(in.op)) return write(in);
  if (body.full && is_view(in.op))
    return set(in.result(),
               bases.view(ref(in.operands[0]), view_of(t, in, body.type(in.operands[0]), body.type(in.result()))));
  const std::vector<FunctionId> functions = callees(t, in.op, in.attrs);
  const bool full =
      in.op == Op::extern_ || std::ranges::any_of(functions, [&](FunctionId f) { return t.body(f).full; });
  const Rule rule = full ? rule_of(in.op) : nullptr;
  rule ? rule(*this, in) : plain(in);
}

// Results of the functional function before the returned bases: values, or the new bases that the results lie in.
std::vector<ValueId> Walk::results(Outcome& out) {
  if (pattern_.values) return read(body.results);
  std::vector<ValueId> fresh;
  std::vector<std::uint32_t> numbers;
  for (ValueId v : body.results) {
    Ref r = ref(v);
    const bool is_new = r.base >= pattern_.bases.size();
    if (is_new) {
      const auto at = std::ranges::find(numbers, r.base);
      if (at == numbers.end()) {
        fresh.push_back(bases.now(r.base));
        numbers.push_back(r.base);
        r.base = static_cast<std::uint32_t>(numbers.size() - 1);
      } else {
        r.base = static_cast<std::uint32_t>(at - numbers.begin());
      }
    }
    out.places.push_back({is_new, std::move(r)});
  }
  return fresh;
}

Result<Outcome> Walk::run() {
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    b.set_origin(static_cast<InstrId>(i));
    instr(body.instr(i));
  }
  if (b.failed()) return b.error();
  Outcome out;
  std::vector<ValueId> values = results(out), returned;
  out.fresh = values.size();
  for (std::uint32_t base : pattern_.returned) returned.push_back(bases.now(base));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(pattern_.returned_at, values.size()));
  values.insert(at, returned.begin(), returned.end());
  Result<FunctionId> f = b.seal(values);
  if (!f) return f.error();
  out.f = *f;
  return out;
}

}  // namespace tfvm::functional
