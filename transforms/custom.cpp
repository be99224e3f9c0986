#include "transforms/custom.h"

#include <algorithm>

#include "bytecode/externs.h"
#include "functionalize/custom_call.h"
#include "functionalize/regions.h"

namespace tfvm {

namespace {

using namespace functional;
using Types = std::vector<TypeId>;

void append_tangents(const TypeTable& types, const Types& primals, Types& out) {
  for (TypeId type : primals)
    if (types.is_differentiable(type)) out.push_back(type);
}

std::string types_text(const TypeTable& types, const Types& list) {
  std::string s;
  for (TypeId type : list) s += (s.empty() ? "" : ", ") + types.text(type);
  return "(" + s + ")";
}

struct Rules {
  TransformEnv& env;
  const ExternInfo& op;
  AttrId attrs;  // of the instruction
  Types args, results;

  // `results` are what the rule must give, or begin with.
  Result<FunctionId> rule(Key kind, const Types& in, const Types& expected, bool prefix = false) const {
    const Tables& t = env.tables;
    Result<FunctionId> made = op.rule ? op.rule(kind, in) : FunctionId{};
    if (made && !*made) return made;
    if (made) {
      Types got = t.body(*made).result_types();
      if (prefix && got.size() > expected.size()) got.resize(expected.size());
      if (got == expected) return made;
      made = Error{Code::Type, "it gives " + types_text(t.types, got) + ", expected " + types_text(t.types, expected)};
    }
    const std::string name = kind == Key::jvp                       ? "custom_jvp"
                             : kind == Key::fwd || kind == Key::bwd ? "custom_vjp"
                                                                    : std::string(t.strings[kind]);
    Error e = made.error();
    e.message = custom_name(t, attrs) + " its rule " + name + " can't be made: " + e.message;
    return e;
  }

  // The rules that ride on a call of `callee`; nullopt: there is none.
  Result<std::optional<AttrId>> on_call(FunctionId callee) const {
    Tables& t = env.tables;
    AttrId call = t.attrs.dict({{Key::callee, callee}});
    bool found = false;
    const auto add = [&](Key key, FunctionId f) {
      if (f) call = t.attrs.with(call, key, t.attrs.of(f)), found = true;
    };
    Types tangents_in, tangents_out;
    append_tangents(t.types, args, tangents_in);
    append_tangents(t.types, results, tangents_out);
    const auto joined = [](std::initializer_list<const Types*> parts) {
      Types all;
      for (const Types* p : parts) all.insert(all.end(), p->begin(), p->end());
      return all;
    };
    const Result<FunctionId> jvp = rule(Key::jvp, joined({&args, &tangents_in}), joined({&results, &tangents_out}));
    if (!jvp) return jvp.error();
    add(Key::jvp, *jvp);
    const Result<FunctionId> derivative = rule(Key::derivative, joined({&args, &results, &tangents_in}), tangents_out);
    if (!derivative) return derivative.error();
    add(Key::derivative, *derivative);
    const Result<FunctionId> fwd = rule(Key::fwd, args, results, true);
    if (!fwd) return fwd.error();
    if (*fwd) {
      Types in = t.body(*fwd).result_types();
      in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(results.size()));
      const Result<FunctionId> bwd = rule(Key::bwd, joined({&in, &tangents_out}), tangents_in);
      if (!bwd) return bwd.error();
      if (!*bwd) return Error{Code::Type, custom_name(t, attrs) + " custom_vjp needs both functions"};
      add(Key::fwd, *fwd);
      add(Key::bwd, *bwd);
    }
    return found ? std::optional(call) : std::nullopt;
  }
};

// The op alone on values, as a function.
Result<FunctionId> bare(TransformEnv& env, Op op, AttrId from, const Types& args) {
  AttrTable& at = env.tables.attrs;
  AttrId attrs = at.dict({{Key::op, at.get(from, Key::op)}, {Key::bare, at.of(true)}});
  if (at.has(from, Key::args)) attrs = at.with(attrs, Key::args, at.get(from, Key::args));
  Builder b(env.tables, env.options, std::string(at.get_str(from, Key::op)));
  std::vector<ValueId> params;
  for (TypeId type : args) params.push_back(b.param(type));
  return b.seal(b.emit_all(op, params, attrs));
}

Status check_apart(Tables& t, const CustomCall& c, AttrId attrs, const Types& bases) {
  for (std::size_t j = 0; j < c.args.size(); ++j)
    for (std::size_t k = 0; k < j; ++k) {
      const CustomArgument &a = c.args[j], &b = c.args[k];
      if (!a.base || a.base != b.base || !(a.mut || b.mut)) continue;
      const TypeId base = bases[*a.base];
      if (!may_intersect(place_of(t, a.view, base), place_of(t, b.view, base))) continue;
      return Error{Code::Unsupported, custom_name(t, attrs) + " operands " + std::to_string(k) + " and " +
                                          std::to_string(j) +
                                          " overlap and one is written: its rules are about values, and don't tell "
                                          "what it does then"};
    }
  return ok();
}

// The base with what a chain of views of it holds replaced.
ValueId put(Builder& b, const Chain& chain, ValueId base, ValueId value) {
  std::vector<ValueId> along{base};
  for (const View& v : chain) along.push_back(forward(b, v, along.back()));
  for (std::size_t k = chain.size(); k-- > 0;) value = inverse(b, chain[k], along[k], value, false);
  return value;
}

// (others…, bases…) -> (results…, new bases…), as auto_functionalized_v2.
Result<FunctionId> on_bases(TransformEnv& env, const CustomCall& c, AttrId call, AttrId from, const Types& operands) {
  Tables& t = env.tables;
  Builder b(t, env.options, std::string(t.attrs.get_str(from, Key::op)));
  std::vector<ValueId> params, args;
  for (TypeId type : operands) params.push_back(b.param(type));
  const std::size_t others = params.size() - c.bases.size();
  std::vector<ValueId> news(params.begin() + static_cast<std::ptrdiff_t>(others), params.end());
  std::vector<Chain> chains;
  std::size_t other = 0;
  for (const CustomArgument& a : c.args) {
    chains.push_back(a.base ? links_of(t, a.view, operands[others + *a.base]) : Chain());
    args.push_back(a.base ? news[*a.base] : params[other++]);
    for (const View& v : chains.back()) args.back() = forward(b, v, args.back());
  }
  const std::vector<ValueId> out = b.emit_all(Op::call, args, call);
  if (b.failed()) return b.error();
  std::vector<ValueId> results(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(c.results));
  for (std::size_t k = 0, at = c.results; k < c.args.size() && !b.failed(); ++k)
    if (c.args[k].mut) news[*c.args[k].base] = put(b, chains[k], news[*c.args[k].base], out[at++]);
  results.insert(results.end(), news.begin(), news.end());
  return b.seal(results);
}

Types argument_types(Tables& t, const CustomCall& c, const Types& operands) {
  Types out;
  const std::size_t others = operands.size() - c.bases.size();
  std::size_t other = 0;
  for (const CustomArgument& a : c.args) {
    const TypeId base = a.base ? operands[others + *a.base] : operands[other++];
    const Chain chain = a.base ? links_of(t, a.view, base) : Chain();
    out.push_back(chain.empty() ? base : chain.back().to);
  }
  return out;
}

}  // namespace

std::string custom_name(const Tables& t, AttrId attrs) {
  return "[" + std::string(t.attrs.get_str(attrs, Key::op)) + "]";
}

Result<std::optional<AttrId>> custom_call(TransformEnv& env, const Instr& in, std::span<const TypeId> operands) {
  Tables& t = env.tables;
  const ExternInfo* op = find_extern(t, in.attrs);
  if (!op) return std::optional<AttrId>();
  const bool v2 = in.op == Op::auto_functionalized_v2;
  const Types all(operands.begin(), operands.end());
  const Result<CustomCall> c = read_custom(t, in);
  if (!c) return c.error();
  const Types args = v2 ? argument_types(t, *c, all) : all;
  const Result<FunctionId> alone = bare(env, v2 ? Op::auto_functionalized : in.op, in.attrs, args);
  if (!alone) return alone.error();
  const Rules rules{env, *op, in.attrs, args, t.body(*alone).result_types()};
  Result<std::optional<AttrId>> call = rules.on_call(*alone);
  if (!call || !v2) return call;
  if (!*call) {
    if (!op->has_rule || !op->has_rule(Key::custom_vmap)) return call;
    *call = t.attrs.dict({{Key::callee, *alone}});
  }
  const Types bases(all.end() - static_cast<std::ptrdiff_t>(c->bases.size()), all.end());
  if (Status apart = check_apart(t, *c, in.attrs, bases); !apart) return std::move(apart).error();
  const Result<FunctionId> whole = on_bases(env, *c, **call, in.attrs, all);
  if (!whole) return whole.error();
  return std::optional(t.attrs.dict({{Key::callee, *whole}}));
}

}  // namespace tfvm
