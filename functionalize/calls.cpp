// Calls and branches. A callee gets the bases that it writes, gives their new values, and says where its results lie.
#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "functionalize/passing.h"

namespace tfvm::functional {

namespace {
void insert(std::vector<std::uint32_t>& list, std::uint32_t base) {
  if (std::ranges::find(list, base) == list.end()) list.push_back(base);
}
}  // namespace

WholeBases whole_bases(const Walk& w, const Instr& in, std::span<const FunctionId> callees) {
  std::vector<std::uint8_t> written(in.operands.size(), 0), addressed(in.operands.size(), 0);
  for (std::size_t c = 0; c < callees.size(); ++c) {
    const Body& callee = w.t.body(callees[c]);
    if (!callee.full) continue;
    const Sharing shares = sharing(w.t, callee);
    for (std::size_t p = 0; p < callee.num_params; ++p) {
      const auto at = shared_operand(w.t, in, c, p);
      if (!at) continue;
      if (p < callee.mut_params.size() && callee.mut_params[p]) written[*at] = 1;
      if (shares.addressed[p]) addressed[*at] = 1;
    }
  }
  WholeBases out;
  for (std::size_t k = 0; k < written.size(); ++k)
    if (written[k]) insert(out.written, w.ref(in.operands[k]).base);
  for (std::size_t k = 0; k < addressed.size(); ++k) {
    const Ref& r = w.ref(in.operands[k]);
    // The whole of a base is the callee's own storage just as well.
    if (addressed[k] && !r.chain.empty() && std::ranges::find(out.written, r.base) == out.written.end())
      insert(out.addressed, r.base);
  }
  return out;
}

std::vector<std::uint32_t> WholeBases::all() const {
  std::vector<std::uint32_t> out = written;
  out.insert(out.end(), addressed.begin(), addressed.end());
  return out;
}

void Passing::bases(std::span<const std::uint32_t> some) {
  for (std::uint32_t base : some) {
    const auto at = static_cast<std::size_t>(std::ranges::find(whole_, base) - whole_.begin());
    places_[at] = static_cast<std::uint32_t>(pattern.bases.size());
    pattern.bases.push_back(w_.bases.type(base));
    operands.push_back(w_.bases.now(base));
  }
  for (const Waiting& x : waiting_)
    if (places_[x.whole]) pattern.args[x.arg].base = *places_[x.whole];
}

void Passing::own(TypeId type, ValueId now) {
  pattern.args.push_back({static_cast<std::uint32_t>(pattern.bases.size()), {}});
  pattern.bases.push_back(type);
  operands.push_back(now);
}

void Passing::value(ValueId old) {
  const Ref& r = w_.ref(old);
  const auto found = std::ranges::find(whole_, r.base);
  if (found == whole_.end()) return own(w_.body.type(old), w_.read(old));
  const auto at = static_cast<std::size_t>(found - whole_.begin());
  if (!places_[at]) waiting_.push_back({pattern.args.size(), at});
  pattern.args.push_back({places_[at].value_or(0), r.chain});
}

namespace {

constexpr Key kRules[] = {Key::jvp, Key::fwd, Key::bwd, Key::derivative};

bool has_rules(const Tables& t, AttrId attrs) {
  return std::ranges::any_of(kRules, [&](Key k) { return t.attrs.has(attrs, k); });
}

// A function with rules of its own keeps them where it shows no write: they are about its values.
void call_with_rules(Walk& w, const Instr& in, FunctionId callee) {
  const Body& body = w.t.body(callee);
  if (std::ranges::count(body.mut_params, 1) > 0) {
    w.b.fail(Code::Unsupported, "[call] " + w.t.debugs.function_name(callee.debug, w.t.strings) +
                                    " has a derivative rule of its own and writes into its arguments");
    return;
  }
  AttrId attrs = in.attrs;
  for (Key key : {Key::callee, Key::jvp, Key::fwd, Key::bwd, Key::derivative}) {
    if (!w.t.attrs.has(attrs, key)) continue;
    const FunctionId f = w.t.attrs.get_func(attrs, key);
    const Result<Outcome> out = w.pass().function(f, plain_pattern(w.t.body(f).param_types()));
    if (!out) return void(w.fail(out.error()));
    attrs = w.t.attrs.with(attrs, key, w.t.attrs.of(out->f));
  }
  const std::vector<ValueId> operands = w.read(in.operands);
  const std::vector<ValueId> results = w.b.emit_all(Op::call, operands, attrs);
  for (std::uint32_t k = 0; k < in.num_results; ++k) w.define(in.result(k), w.b.failed() ? kNoValue : results[k]);
}

}  // namespace

void walk_call(Walk& w, const Instr& in) {
  const FunctionId callee = w.t.attrs.get_func(in.attrs, Key::callee);
  if (has_rules(w.t, in.attrs)) return call_with_rules(w, in, callee);
  const WholeBases needed = whole_bases(w, in, {&callee, 1});
  const std::vector<std::uint32_t>& written = needed.written;
  std::vector<std::uint32_t> whole = needed.all();
  const Body& body = w.t.body(callee);
  const Sharing shares = sharing(w.t, body);
  for (ValueId v : body.results)
    for (std::uint32_t root : shares.values[index(v)])
      if (!(root & kGlobalRoot)) insert(whole, w.ref(in.operands[root]).base);
  Passing passing(w, whole);
  passing.bases(whole);
  for (ValueId v : in.operands) passing.value(v);
  passing.pattern.values = false;
  for (std::uint32_t k = 0; k < written.size(); ++k) passing.pattern.returned.push_back(k);
  const Result<Outcome> out = w.pass().function(callee, passing.pattern);
  if (!out) return void(w.fail(out.error()));
  AttrId attrs = w.t.attrs.dict({{Key::callee, out->f}});
  attrs = w.t.attrs.with(attrs, Key::policy, w.t.attrs.get(in.attrs, Key::policy));
  const std::vector<ValueId> results = w.b.emit_all(Op::call, passing.operands, attrs);
  if (w.b.failed()) return;
  std::vector<std::uint32_t> fresh;
  for (std::size_t k = 0; k < out->fresh; ++k) fresh.push_back(w.bases.add(results[k]));
  for (std::size_t k = 0; k < written.size(); ++k) w.bases.set(written[k], results[out->fresh + k]);
  for (std::uint32_t k = 0; k < in.num_results; ++k) {
    Ref r = out->places[k].ref;
    r.base = out->places[k].is_new ? fresh[r.base] : whole[r.base];
    w.set(in.result(k), std::move(r));
  }
}

// Every branch gives the new values of what some branch writes.
void walk_branches(Walk& w, const Instr& in) {
  const std::vector<FunctionId> branches = callees(w.t, in.op, in.attrs);
  const WholeBases whole = whole_bases(w, in, branches);
  const std::vector<std::uint32_t>& written = whole.written;
  Passing passing(w, whole.all());
  passing.bases(whole.all());
  for (ValueId v : in.operands.subspan(1)) passing.value(v);
  for (std::uint32_t k = 0; k < written.size(); ++k) passing.pattern.returned.push_back(k);
  std::vector<AttrId> made;
  for (FunctionId f : branches) {
    const Result<Outcome> out = w.pass().function(f, passing.pattern);
    if (!out) return void(w.fail(out.error()));
    made.push_back(w.t.attrs.of(out->f));
  }
  AttrId attrs = in.attrs;
  if (in.op == Op::cond)
    attrs = w.t.attrs.with(w.t.attrs.with(attrs, Key::then, made[0]), Key::else_, made[1]);
  else
    attrs = w.t.attrs.with(attrs, Key::branches, w.t.attrs.list(made));
  std::vector<ValueId> operands{w.read(in.operands[0])};
  operands.insert(operands.end(), passing.operands.begin(), passing.operands.end());
  const std::vector<ValueId> results = w.b.emit_all(in.op, operands, attrs);
  if (w.b.failed()) return;
  for (std::uint32_t k = 0; k < in.num_results; ++k) w.define(in.result(k), results[k]);
  for (std::size_t k = 0; k < written.size(); ++k) w.bases.set(written[k], results[in.num_results + k]);
}

}  // namespace tfvm::functional
