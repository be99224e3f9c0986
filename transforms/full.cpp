#include "transforms/full.h"

#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/elaborate/globals.h"
#include "bytecode/expand/writes.h"
#include "functionalize/functionalize.h"
#include "transforms/functions.h"
#include "transforms/vmap/table.h"

namespace tfvm {

namespace {

using Types = std::span<const TypeId>;

Result<FunctionId> made_functional(TransformEnv& env, FunctionId f, bool v1) {
  const std::int64_t params[] = {v1};
  if (const PassResult* known = env.memo.find("functionalize", f, params)) return known->f;
  Result<FunctionId> made = functionalize(env.tables, f, {env.options, v1});
  if (made) env.memo.add("functionalize", f, params, {*made, {}, {}, {}});
  return made;
}

// The functionalized callee: with the new values as results behind its own, or without.
class FunctionalCallee final : public CalleeRef {
 public:
  FunctionalCallee(TransformEnv& env, CalleeRef& inner, bool with_news)
      : env_(env), inner_(inner), with_news_(with_news) {}
  Result<std::size_t> arity(Types available) override { return inner_.arity(available); }
  Result<FunctionId> instantiate(Types args) override {
    const Result<FunctionId> full = inner_.instantiate(args);
    Result<FunctionId> f = full ? made_functional(env_, *full, false) : full.error();
    if (!f) return f;
    const std::size_t own = env_.tables.body(*full).results.size(), all = env_.tables.body(*f).results.size();
    if (!with_news_ && own < all) {
      std::vector<std::uint32_t> params, results;
      for (std::uint32_t k = 0; k < args.size(); ++k) params.push_back(k);
      for (std::uint32_t k = 0; k < own; ++k) results.push_back(k);
      f = rearrange(env_, *f, params, results);
    }
    if (f) made_.push_back(*f);
    return f;
  }
  std::span<const StrId> param_names() const override { return inner_.param_names(); }
  bool is_full() override { return false; }
  bool has_made(FunctionId f) const override { return std::ranges::find(made_, f) != made_.end(); }
  std::string text() const override { return inner_.text(); }
  std::vector<NamedAxis>& axes() override { return inner_.axes(); }
  std::optional<DType> hint(Types args, std::size_t k) override { return inner_.hint(args, k); }
  std::optional<std::vector<TypeId>> fixed_types() override { return inner_.fixed_types(); }

 private:
  TransformEnv& env_;
  CalleeRef& inner_;
  bool with_news_;
  std::vector<FunctionId> made_;
};

// Kept, so that a pack of linearize finds its function again.
CalleeRef& functional(TransformEnv& env, CalleeRef& callee, bool with_news) {
  auto& slot = env.functional[{&callee, with_news}];
  if (!slot) slot = std::make_shared<FunctionalCallee>(env, callee, with_news);
  return *slot;
}

// One call of a transformed full function on its way.
struct Wrap {
  TransformEnv& env;
  const TransformRow& row;
  CalleeRef& callee;
  AttrId attrs;
  Types args;
  FunctionId full;                                       // the callee
  std::size_t inputs = 0;                                // of the callee, the first of args
  std::vector<std::uint32_t> muts;                       // its mut parameters
  std::vector<GlobalUse> globals;                        // that it writes
  std::vector<ValueId> params, results, news, tangents;  // tangents: of mut parameters, by place in `muts`

  Tables& t() const { return env.tables; }
  std::size_t outputs() const { return t().body(full).results.size(); }
  std::size_t count() const { return muts.size() + globals.size(); }
  Result<FunctionId> make(bool with_news, AttrId with) {
    return row.make(env, functional(env, callee, with_news), with, args);
  }
  Result<std::vector<ValueId>> call(Builder& b, const Result<FunctionId>& f) {
    if (!f) return f.error();
    return b.emit_all(Op::call, params, t().attrs.dict({{Key::callee, *f}}));
  }
};

using Step = Status (*)(Wrap&, Builder&);

bool is_float(const Wrap& w, TypeId type) { return w.t().types.is_differentiable(type); }

// grad: gradients, aux…, new values; value_and_grad: value, aux…, new values, gradients.
Status step_grad(Wrap& w, Builder& b) {
  if (!w.t().attrs.get_bool(w.attrs, Key::has_aux) && w.outputs() != 1) {
    const Result<FunctionId> refused = w.make(false, w.attrs);
    if (!refused) return refused.error();
  }
  const AttrId with_aux = w.t().attrs.with(w.attrs, Key::has_aux, w.t().attrs.of(true));
  Result<std::vector<ValueId>> out = w.call(b, w.make(true, with_aux));
  if (!out) return out.error();
  const std::size_t first = w.row.name == "grad" ? out->size() - w.count() : w.outputs();
  const auto begin = out->begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(w.count());
  w.news.assign(begin, end);
  out->erase(begin, end);
  w.results = *std::move(out);
  return ok();
}

// (outputs…, new values…, output tangents…, tangents of new values…)
Status step_jvp(Wrap& w, Builder& b) {
  if (w.t().attrs.get_bool(w.attrs, Key::has_aux))
    return Error{Code::Unsupported, "[jvp] has_aux=true of a function that writes into its inputs"};
  const Result<std::vector<ValueId>> out = w.call(b, w.make(true, w.attrs));
  if (!out) return out.error();
  const std::size_t n = w.outputs();
  w.news.assign(out->begin() + static_cast<std::ptrdiff_t>(n),
                out->begin() + static_cast<std::ptrdiff_t>(n + w.count()));
  std::size_t next = n + w.count();
  std::vector<ValueId> tangents;
  for (std::size_t k = 0; k < n + w.count(); ++k) {
    const ValueId d = is_float(w, b.type((*out)[k])) ? (*out)[next++] : kNoValue;
    if (k < n && d != kNoValue) tangents.push_back(d);
    if (k >= n && k < n + w.muts.size()) w.tangents.push_back(d);
  }
  w.results.assign(out->begin(), out->begin() + static_cast<std::ptrdiff_t>(n));
  w.results.insert(w.results.end(), tangents.begin(), tangents.end());
  return ok();
}

std::string writer_of(const Wrap& w, std::uint32_t param) {
  const Body& body = w.t().body(w.full);
  const std::uint32_t i = sharing(w.t(), body).first[param];
  if (i == Sharing::kNoInstr) return "a write";
  const Instr in = body.instr(i);
  const Loc loc = w.t().debugs.find_loc(w.full.debug, static_cast<InstrId>(i));
  return write_name(w.t(), in.op, in.attrs) + (loc.line ? " in line " + std::to_string(loc.line) : "");
}

// The innermost write into a global: of the function, or of one that it calls.
std::string writer_of_global(const Wrap& w, FunctionId f, std::int64_t global) {
  const Body& body = w.t().body(f);
  const Sharing s = sharing(w.t(), body);
  const std::uint32_t root = static_cast<std::uint32_t>(global) | kGlobalRoot;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (is_write(in.op) && std::ranges::count(s.values[index(in.operands[0])], root) > 0) {
      const Loc loc = w.t().debugs.find_loc(f.debug, static_cast<InstrId>(i));
      return write_name(w.t(), in.op, in.attrs) + (loc.line ? " in line " + std::to_string(loc.line) : "");
    }
    for (FunctionId g : callees(w.t(), in.op, in.attrs))
      if (w.t().body(g).full && std::ranges::count(written_globals(w.t(), g), static_cast<std::uint32_t>(global)) > 0)
        return writer_of_global(w, g, global);
  }
  return "a write";
}

// New values get the dims of the inputs; of what is not batched they may not be.
Status step_vmap(Wrap& w, Builder& b) {
  AttrTable& at = w.t().attrs;
  const auto entries = [&](Key key, std::size_t n) {
    const Attr a = at[at.get(w.attrs, key)];
    std::vector<AttrId> out(a.items.begin(), a.items.end());
    for (std::int64_t d : a.ints) out.push_back(at.of(d));
    const bool one = a.kind == AttrKind::Int || a.kind == AttrKind::None;
    if (one) out.assign(1, at.get(w.attrs, key));
    if ((one || out.size() == 1) && n != 1) out.assign(n, AttrId(out[0]));
    return out;
  };
  const std::vector<AttrId> in = entries(Key::in_dims, w.inputs);
  std::vector<AttrId> out = entries(Key::out_dims, w.outputs());
  if (out.size() != w.outputs() || in.size() != w.inputs)
    return w.make(false, w.attrs) ? ok() : w.make(false, w.attrs).error();
  for (std::uint32_t k : w.muts) out.push_back(in[k]);
  out.insert(out.end(), w.globals.size(), at.none());
  const AttrId with = at.with(w.attrs, Key::out_dims, at.list(out));
  const Result<FunctionId> f = w.make(true, with);
  if (!f) {
    for (std::size_t k = 0; k < w.count(); ++k) {
      if (at[out[w.outputs() + k]].kind != AttrKind::None) continue;
      if (f.error().message.find("out_dims[" + std::to_string(w.outputs() + k) + "] is none") == std::string::npos)
        continue;
      const StringTable& strings = w.t().strings;
      const bool is_mut = k < w.muts.size();
      const std::span<const StrId> names = w.callee.param_names();
      std::string what = is_mut ? (w.muts[k] < names.size() ? "%" + std::string(strings[names[w.muts[k]]])
                                                            : "input " + std::to_string(w.muts[k]))
                                : "@" + std::string(strings[w.globals[k - w.muts.size()].name]);
      const std::string by =
          is_mut ? writer_of(w, w.muts[k]) : writer_of_global(w, w.full, w.globals[k - w.muts.size()].index);
      return Error{Code::Type, "[vmap] " + what + " is not batched, but " + by + " gives it a value for each lane"};
    }
    return f.error();
  }
  const Result<std::vector<ValueId>> results = w.call(b, f);
  if (!results) return results.error();
  const auto split = results->begin() + static_cast<std::ptrdiff_t>(w.outputs());
  w.results.assign(results->begin(), split);
  w.news.assign(split, results->end());
  return ok();
}

// Any other transform is of the outputs alone; the new values are computed beside it.
Status step_beside(Wrap& w, Builder& b) {
  Result<std::vector<ValueId>> out = w.call(b, w.make(false, w.attrs));
  if (!out) return out.error();
  w.results = *std::move(out);
  const Result<FunctionId> f = made_functional(w.env, w.full, false);
  if (!f) return f.error();
  const auto inputs = std::span(w.params).first(w.inputs);
  const std::vector<ValueId> all = b.emit_all(Op::call, inputs, w.t().attrs.dict({{Key::callee, *f}}));
  if (!b.failed()) w.news.assign(all.begin() + static_cast<std::ptrdiff_t>(w.outputs()), all.end());
  return ok();
}

Step step_of(std::string_view transform) {
  if (transform == "grad" || transform == "value_and_grad") return step_grad;
  if (transform == "jvp") return step_jvp;
  if (transform == "vmap") return step_vmap;
  return step_beside;
}

// The parameters of the derived function; a mut primal of jvp has a mut tangent.
void make_params(Wrap& w, Builder& b) {
  const Mask floats = differentiable(w.t(), w.args.first(w.inputs));
  const std::vector<std::uint32_t> primals = positions(floats);
  const std::span<const StrId> names = w.callee.param_names();
  for (std::size_t k = 0; k < w.args.size(); ++k) {
    std::size_t of = k;
    if (k >= w.inputs && w.row.name == "jvp" && k - w.inputs < primals.size()) of = primals[k - w.inputs];
    const bool is_mut = std::ranges::find(w.muts, of) != w.muts.end() && (k < w.inputs || w.row.name == "jvp");
    w.params.push_back(b.param(w.args[k], is_mut));
    if (k < w.inputs && k < names.size()) b.name(w.params[k], names[k]);
  }
}

Status write_back(Wrap& w, Builder& b) {
  const std::vector<std::uint32_t> primals = positions(differentiable(w.t(), w.args.first(w.inputs)));
  for (std::size_t k = 0; k < w.muts.size(); ++k) {
    b.emit(Op::copy_, {w.params[w.muts[k]], w.news[k]});
    if (k >= w.tangents.size() || w.tangents[k] == kNoValue) continue;
    const auto at = std::ranges::find(primals, w.muts[k]) - primals.begin();
    b.emit(Op::copy_, {w.params[w.inputs + static_cast<std::size_t>(at)], w.tangents[k]});
  }
  for (std::size_t k = 0; k < w.globals.size(); ++k)
    b.emit(Op::copy_, {emit_global(b, w.globals[k]), w.news[w.muts.size() + k]});
  return b.failed() ? Status(b.error()) : ok();
}

bool takes_pack(std::string_view transform) { return transform == "lin" || transform == "bwd"; }

Result<std::size_t> same_arity(TransformEnv&, CalleeRef& callee, AttrId, Types available) {
  return callee.arity(available);
}

Result<FunctionId> make_functionalize(TransformEnv& env, CalleeRef& callee, AttrId attrs, Types args) {
  const Result<FunctionId> f = callee.instantiate(args);
  if (!f) return f;
  const std::string_view how = env.tables.attrs.get_str(attrs, Key::auto_);
  if (how != "v1" && how != "v2") return Error{Code::Type, "[functionalize] auto must be \"v1\" or \"v2\""};
  return made_functional(env, *f, how == "v1");
}

}  // namespace

Result<FunctionId> functionalize_transform(TransformEnv& env, FunctionId f) { return made_functional(env, f, false); }

TransformRow functionalize_row() {
  return {.name = "functionalize",
          .attrs = parse_attr_specs("auto:str=\"v2\""),
          .arity = same_arity,
          .make = make_functionalize,
          .keeps_params = true,
          .takes_full = true};
}

Result<FunctionId> make_of_full(TransformEnv& env, const TransformRow& row, CalleeRef& callee, AttrId attrs,
                                Types args) {
  if (takes_pack(row.name)) return row.make(env, functional(env, callee, false), attrs, args);
  const bool is_vmap = row.name == "vmap";
  const Result<std::size_t> n = is_vmap ? row.arity(env, callee, attrs, args) : callee.arity(args);
  if (!n) return n.error();
  if (*n > args.size())
    return Error{Code::Type,
                 callee.text() + " takes " + std::to_string(*n) + " arguments, got " + std::to_string(args.size())};
  const Result<FunctionId> full = is_vmap ? vmap_callee(env, callee, attrs, args) : callee.instantiate(args.first(*n));
  if (!full) return full;
  Wrap w{env, row, callee, attrs, args, *full, *n, {}, {}, {}, {}, {}, {}};
  const Body& body = env.tables.body(*full);
  for (std::uint32_t k = 0; k < body.mut_params.size(); ++k)
    if (body.mut_params[k]) w.muts.push_back(k);
  const std::vector<std::uint32_t> written = written_globals(env.tables, *full);
  for (const GlobalUse& g : globals_used(env.tables, *full))
    if (std::ranges::count(written, static_cast<std::uint32_t>(g.index)) > 0) w.globals.push_back(g);
  if (w.count() == 0) return row.make(env, functional(env, callee, false), attrs, args);
  Builder b(env.tables, env.options, *full, row.name);
  b.set_full(true);
  make_params(w, b);
  if (Status s = step_of(row.name)(w, b); !s) return s.error();
  if (b.failed()) return b.error();
  if (Status s = write_back(w, b); !s) return s.error();
  return b.seal(w.results);
}

}  // namespace tfvm
