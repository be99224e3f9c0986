// Loops: a base that the body writes through a constant becomes one more carry, behind the others.
#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "functionalize/passing.h"

namespace tfvm::functional {

namespace {

std::size_t count(const Walk& w, const Instr& in, Key k) {
  return static_cast<std::size_t>(w.t.attrs.get_int(in.attrs, k));
}

AttrId with_count(Walk& w, AttrId attrs, Key k, std::size_t n) {
  return w.t.attrs.with(attrs, k, w.t.attrs.of(static_cast<std::int64_t>(n)));
}

// One function of a loop on its constants, the carries and what else a trip has: parameters are the constants that
// nobody writes (whole bases first), the carries, the written bases, the rest.
struct LoopFunction {
  Passing passing;
  std::size_t consts = 0;

  LoopFunction(Walk& w, const WholeBases& whole, std::span<const ValueId> consts_, std::span<const ValueId> carries)
      : passing(w, whole.all()) {
    passing.bases(whole.addressed);
    for (ValueId v : consts_) passing.value(v);
    consts = passing.operands.size();
    for (ValueId v : carries) passing.own(w.body.type(v), w.read(v));
    passing.bases(whole.written);
  }
  std::span<const ValueId> const_operands() const { return std::span(passing.operands).first(consts); }
  std::span<const ValueId> carry_operands() const { return std::span(passing.operands).subspan(consts); }
};

// The new values of a loop's written bases stand behind its carries.
void set_results(Walk& w, const Instr& in, std::span<const std::uint32_t> written, std::size_t carries,
                 std::span<const ValueId> results) {
  if (w.b.failed()) return;
  for (std::uint32_t k = 0; k < in.num_results; ++k)
    w.define(in.result(k), results[k < carries ? k : k + written.size()]);
  for (std::size_t k = 0; k < written.size(); ++k) w.bases.set(written[k], results[carries + k]);
}

}  // namespace

void walk_while(Walk& w, const Instr& in) {
  const std::vector<FunctionId> functions = callees(w.t, in.op, in.attrs);
  if (!whole_bases(w, in, std::span(functions).first(1)).written.empty()) {
    w.b.fail(Code::Unsupported, "[while] the condition writes into a captured value; write in the body");
    return;
  }
  const WholeBases whole = whole_bases(w, in, functions);
  const std::vector<std::uint32_t>& written = whole.written;
  const std::size_t nc = count(w, in, Key::cond_consts), nb = count(w, in, Key::body_consts);
  const auto carries = in.operands.subspan(nc + nb);
  LoopFunction cond(w, whole, in.operands.first(nc), carries), body(w, whole, in.operands.subspan(nc, nb), carries);
  for (std::size_t k = 0; k < written.size(); ++k)
    body.passing.pattern.returned.push_back(static_cast<std::uint32_t>(body.consts + carries.size() + k));
  const Result<Outcome> c = w.pass().function(functions[0], cond.passing.pattern);
  if (!c) return void(w.fail(c.error()));
  const Result<Outcome> f = w.pass().function(functions[1], body.passing.pattern);
  if (!f) return void(w.fail(f.error()));
  AttrId attrs = w.t.attrs.with(in.attrs, Key::cond, w.t.attrs.of(c->f));
  attrs = w.t.attrs.with(attrs, Key::body, w.t.attrs.of(f->f));
  attrs = with_count(w, with_count(w, attrs, Key::cond_consts, cond.consts), Key::body_consts, body.consts);
  std::vector<ValueId> operands(cond.const_operands().begin(), cond.const_operands().end());
  operands.insert(operands.end(), body.passing.operands.begin(), body.passing.operands.end());
  const std::vector<ValueId> results = w.b.emit_all(in.op, operands, attrs);
  set_results(w, in, written, carries.size(), results);
}

void walk_scan(Walk& w, const Instr& in) {
  const std::vector<FunctionId> functions = callees(w.t, in.op, in.attrs);
  const WholeBases whole = whole_bases(w, in, functions);
  const std::vector<std::uint32_t>& written = whole.written;
  const std::size_t consts = count(w, in, Key::consts), carry = count(w, in, Key::carry);
  LoopFunction body(w, whole, in.operands.first(consts), in.operands.subspan(consts, carry));
  Pattern& pattern = body.passing.pattern;
  for (std::size_t k = 0; k < written.size(); ++k)
    pattern.returned.push_back(static_cast<std::uint32_t>(body.consts + carry + k));
  pattern.returned_at = carry;
  const std::vector<TypeId> params(w.t.body(functions[0]).param_types().begin(),
                                   w.t.body(functions[0]).param_types().end());
  for (std::size_t k = consts + carry; k < in.operands.size(); ++k) body.passing.own(params[k], w.read(in.operands[k]));
  const Result<Outcome> f = w.pass().function(functions[0], pattern);
  if (!f) return void(w.fail(f.error()));
  AttrId attrs = w.t.attrs.with(in.attrs, Key::body, w.t.attrs.of(f->f));
  attrs = with_count(w, with_count(w, attrs, Key::consts, body.consts), Key::carry, carry + written.size());
  const std::vector<ValueId> results = w.b.emit_all(in.op, body.passing.operands, attrs);
  set_results(w, in, written, carry, results);
}

}  // namespace tfvm::functional
