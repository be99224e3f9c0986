#include "bytecode/elaborate/globals.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "bytecode/own_rules.h"
#include "bytecode/rewriter.h"

namespace tfvm {

namespace {

using Globals = std::span<const GlobalUse>;

GlobalUse global_of(const Tables& t, const Body& body, const Instr& in) {
  return {t.attrs[t.attrs.get(in.attrs, Key::name)].str, t.attrs.get_int(in.attrs, Key::index), body.type(in.result())};
}

template <class Visit>
void each_function(const Tables& t, AttrId attr, const Visit& visit) {
  const Attr& a = t.attrs[attr];
  if (a.kind == AttrKind::Func) visit(a.func);
  for (AttrId item : a.items) each_function(t, item, visit);
}

void collect(const Tables& t, FunctionId f, std::unordered_set<BodyId>& seen, std::map<std::int64_t, GlobalUse>& out) {
  if (!seen.insert(f.body).second) return;
  const Body& body = t.body(f);
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::global) {
      const GlobalUse use = global_of(t, body, in);
      out.emplace(use.index, use);
    } else if (in.op != Op::constant) {
      each_function(t, in.attrs, [&](FunctionId g) { collect(t, g, seen, out); });
    }
  }
}

void map_results(Rewriter& rw, const Instr& in, const std::vector<ValueId>& results) {
  for (std::uint32_t k = 0; k < results.size(); ++k) {
    rw.map(in.result(k), results[k]);
    rw.builder().name_from(results[k], in.result(k));
  }
}

class Lift {
 public:
  Lift(Tables& t, Globals globals) : t_(t), globals_(globals) {}

  // The function with `globals_` that it needs, or with all of them, as leading parameters.
  Result<FunctionId> function(FunctionId f);

 private:
  bool touches(FunctionId f);
  void instr(Rewriter& rw, InstrId i);
  void call(Rewriter& rw, InstrId i);
  AttrId lifted(Builder& b, AttrId attr);
  FunctionId lifted(Builder& b, FunctionId f);
  FunctionId rule(Builder& b, FunctionId rule, std::size_t primals, std::size_t outputs, FunctionId forward);
  std::vector<ValueId> with_globals(const Rewriter& rw, std::span<const ValueId> operands, std::size_t at) const;

  Tables& t_;
  Globals globals_;
  std::unordered_map<FunctionId, FunctionId> done_;
  std::unordered_map<BodyId, bool> touched_;
  std::vector<ValueId> params_;  // of the function being rewritten, one per global
};

bool Lift::touches(FunctionId f) {
  if (const auto it = touched_.find(f.body); it != touched_.end()) return it->second;
  const Body& body = t_.body(f);
  bool found = false;
  for (std::uint32_t i = 0; i < body.num_instrs() && !found; ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::global)
      found = std::ranges::find(globals_, global_of(t_, body, in)) != globals_.end();
    else if (in.op != Op::constant)
      each_function(t_, in.attrs, [&](FunctionId g) { found = found || touches(g); });
  }
  touched_.emplace(f.body, found);
  return found;
}

Result<FunctionId> Lift::function(FunctionId f) {
  if (const auto it = done_.find(f); it != done_.end()) return it->second;
  Builder b(t_, BuilderOptions{nullptr, !t_.body(f).full}, f, {});
  std::vector<ValueId> outer;
  outer.swap(params_);
  for (const GlobalUse& g : globals_) {
    params_.push_back(b.param(g.type));
    b.name(params_.back(), g.name);
  }
  Rewriter rw(b, f);
  for (std::uint32_t i = 0; i < rw.source().num_instrs() && !b.failed(); ++i) instr(rw, static_cast<InstrId>(i));
  params_.swap(outer);
  Result<FunctionId> made = rw.seal();
  if (made) done_.emplace(f, *made);
  return made;
}

FunctionId Lift::lifted(Builder& b, FunctionId f) {
  Result<FunctionId> r = function(f);
  if (r) return *r;
  b.fail(r.error().code, r.error().message);
  return f;
}

AttrId Lift::lifted(Builder& b, AttrId attr) {
  const Attr a = t_.attrs[attr];
  if (a.kind == AttrKind::Func) return t_.attrs.of(lifted(b, a.func));
  if (a.kind != AttrKind::List) return attr;
  std::vector<AttrId> items;
  for (AttrId item : a.items) items.push_back(lifted(b, item));
  return t_.attrs.list(items);
}

std::vector<ValueId> Lift::with_globals(const Rewriter& rw, std::span<const ValueId> operands, std::size_t at) const {
  std::vector<ValueId> out;
  for (std::size_t k = 0; k <= operands.size(); ++k) {
    if (k == at) out.insert(out.end(), params_.begin(), params_.end());
    if (k < operands.size()) out.push_back(rw(operands[k]));
  }
  return out;
}

void Lift::instr(Rewriter& rw, InstrId i) {
  const Instr in = rw.source().instr(i);
  Builder& b = rw.builder();
  if (in.op == Op::global) {
    const auto it = std::ranges::find(globals_, global_of(t_, rw.source(), in));
    if (it == globals_.end()) return rw.copy(i);
    rw.map(in.result(), params_[static_cast<std::size_t>(it - globals_.begin())]);
    return;
  }
  bool found = false;
  if (in.op != Op::constant) each_function(t_, in.attrs, [&](FunctionId g) { found = found || touches(g); });
  if (!found) return rw.copy(i);
  rw.begin(i);
  if (in.op == Op::call) return call(rw, i);

  const auto n = static_cast<std::int64_t>(globals_.size());
  AttrId attrs = in.attrs;
  const auto lift = [&](Key key) { attrs = t_.attrs.with(attrs, key, lifted(b, t_.attrs.get(attrs, key))); };
  const auto more = [&](Key key) { attrs = t_.attrs.with(attrs, key, t_.attrs.of(t_.attrs.get_int(attrs, key) + n)); };
  std::vector<ValueId> operands;
  switch (in.op) {
    case Op::cond:
      lift(Key::then), lift(Key::else_), operands = with_globals(rw, in.operands, 1);
      break;
    case Op::switch_:
      lift(Key::branches), operands = with_globals(rw, in.operands, 1);
      break;
    case Op::scan:
    case Op::tape_scan:
      lift(Key::body), more(Key::consts), operands = with_globals(rw, in.operands, in.op == Op::scan ? 0 : 1);
      break;
    case Op::while_: {
      lift(Key::cond), lift(Key::body);
      const auto cond_consts = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::cond_consts));
      operands = with_globals(rw, in.operands, cond_consts);
      operands.insert(operands.begin(), params_.begin(), params_.end());
      more(Key::cond_consts), more(Key::body_consts);
      break;
    }
    default:
      b.fail(Code::Unsupported, "[" + std::string(name(in.op)) + "] its function reads a param or buffer");
      return;
  }
  map_results(rw, in, b.emit_all(in.op, operands, attrs));
}

// Own rules of a function whose globals became parameters: it has no derivative by them, so the rules get zeros there,
// but for implicit functions.
void Lift::call(Rewriter& rw, InstrId i) {
  const Instr in = rw.source().instr(i);
  Builder& b = rw.builder();
  AttrId attrs = in.attrs;
  const FunctionId callee = t_.attrs.get_func(attrs, Key::callee);
  attrs = t_.attrs.with(attrs, Key::callee, t_.attrs.of(lifted(b, callee)));
  const std::size_t primals = in.operands.size(), outputs = in.num_results;
  for (Key key : kOwnRules) {
    if (!t_.attrs.has(attrs, key)) continue;
    const FunctionId own = t_.attrs.get_func(attrs, key);
    // Those of implicit functions take the globals as they take all that the solution depends on.
    FunctionId now;
    if (key == Key::root || key == Key::tangent_solve || key == Key::matvec || key == Key::transpose_solve)
      now = lifted(b, own);
    if (key == Key::jvp) now = rule(b, own, primals, 0, {});
    if (key == Key::derivative) now = rule(b, own, primals, outputs, {});
    if (key == Key::fwd) now = lifted(b, own);
    if (key == Key::bwd) now = rule(b, own, 0, 0, own);
    attrs = t_.attrs.with(attrs, key, t_.attrs.of(now));
  }
  map_results(rw, in, b.emit_all(Op::call, with_globals(rw, in.operands, 0), attrs));
}

// jvp:        (x…, dx…) -> …            becomes  (g…, x…, dg…, dx…) -> the same
// derivative: (x…, y…, dx…) -> …        becomes  (g…, x…, y…, dg…, dx…) -> the same
// bwd:        (residuals…, ct…) -> dx…  becomes  the same parameters -> zeros for g…, dx…
FunctionId Lift::rule(Builder& outer, FunctionId own, std::size_t primals, std::size_t outputs, FunctionId bwd) {
  const bool is_bwd = static_cast<bool>(bwd);
  if (is_bwd && touches(own)) {
    outer.fail(Code::Unsupported, "the backward rule of a custom_vjp reads a param or buffer; give it as a residual");
    return own;
  }
  const bool reads = touches(own);
  const FunctionId inner = reads ? lifted(outer, own) : own;
  if (outer.failed()) return own;
  const Body& body = t_.body(own);
  const std::vector<TypeId> params(body.param_types().begin(), body.param_types().end());
  Builder b(t_, BuilderOptions{}, own, {});
  std::vector<ValueId> globals, args;
  for (const GlobalUse& g : globals_)
    if (!is_bwd) globals.push_back(b.param(g.type));
  if (reads) args = globals;
  for (std::size_t k = 0; k < params.size(); ++k) {
    if (!is_bwd && k == primals + outputs)
      for (const GlobalUse& g : globals_)
        if (t_.types.is_differentiable(g.type)) b.param(g.type);
    args.push_back(b.param(params[k]));
  }
  std::vector<ValueId> results;
  if (is_bwd)
    for (const GlobalUse& g : globals_)
      if (t_.types.is_differentiable(g.type)) results.push_back(b.zeros(g.type));
  const std::vector<ValueId> own_results = b.emit_all(Op::call, args, t_.attrs.dict({{Key::callee, inner}}));
  results.insert(results.end(), own_results.begin(), own_results.end());
  Result<FunctionId> made = b.seal(results);
  if (made) return *made;
  outer.fail(made.error().code, made.error().message);
  return own;
}

}  // namespace

ValueId emit_global(Builder& b, const GlobalUse& g) {
  Tables& t = b.tables();
  const AttrId shape = t.attrs.ints(t.types.dims(g.type));
  return b.emit(Op::global, {},
                {{Key::name, t.strings[g.name]},
                 {Key::index, g.index},
                 {Key::shape, shape},
                 {Key::dtype, t.types.dtype(g.type)}});
}

std::vector<GlobalUse> globals_used(const Tables& t, FunctionId f) {
  std::unordered_set<BodyId> seen;
  std::map<std::int64_t, GlobalUse> found;
  collect(t, f, seen, found);
  std::vector<GlobalUse> out;
  for (const auto& [place, use] : found) out.push_back(use);
  return out;
}

Result<FunctionId> lift_globals(Tables& t, FunctionId f, std::span<const GlobalUse> globals) {
  if (globals.empty()) return f;
  return Lift(t, globals).function(f);
}

}  // namespace tfvm
