// A function as written, for given argument types: what binds, the code, and the rules of its own.
#include <algorithm>

#include "bytecode/elaborate/elaborator.h"
#include "bytecode/elaborate/program.h"
#include "bytecode/elaborate/visit.h"

namespace tfvm {

namespace {

constexpr Key kRuleKeys[] = {Key::custom_jvp, Key::custom_vjp, Key::derivative, Key::policy};
constexpr Key kImplicitKeys[] = {Key::custom_root,     Key::tangent_solve, Key::custom_linear_solve,
                                 Key::transpose_solve, Key::symmetric,     Key::has_aux};

std::string attr_text(const Tables& t, AttrId id) {
  const Attr& a = t.attrs[id];
  switch (a.kind) {
    case AttrKind::Int:
      return std::to_string(a.i);
    case AttrKind::Bool:
      return a.i ? "true" : "false";
    case AttrKind::Float:
      return std::to_string(a.f());
    case AttrKind::Str:
      return '"' + std::string(t.strings[a.str]) + '"';
    case AttrKind::DType:
      return std::string(name(a.dtype()));
    case AttrKind::Ints: {
      std::string s = "[";
      for (std::size_t k = 0; k < a.ints.size(); ++k) s += (k ? ", " : "") + std::to_string(a.ints[k]);
      return s + "]";
    }
    default:
      return "none";
  }
}

void append_tangents(const TypeTable& types, std::span<const TypeId> primals, std::vector<TypeId>& out) {
  for (TypeId type : std::vector<TypeId>(primals.begin(), primals.end()))
    if (types.is_differentiable(type)) out.push_back(type);
}

std::string types_text(const TypeTable& types, std::span<const TypeId> list) {
  std::string s = "(";
  for (std::size_t k = 0; k < list.size(); ++k) s += (k ? ", " : "") + types.text(list[k]);
  return s + ")";
}

}  // namespace

TemplateCallee::TemplateCallee(Program& p, const Source& source, const Template& f, AttrId attrs)
    : Callee(p), source_(source), f_(f), attrs_(attrs) {
  for (const Param& param : f.params) names_.push_back(param.name);
}

bool TemplateCallee::is_library() const { return source_.space != Space::User; }

bool TemplateCallee::is_full() { return p_.is_full(source_, f_); }

bool TemplateCallee::writes_back() {
  return is_full() && (std::ranges::any_of(f_.params, &Param::mut) || !globals().empty());
}

std::string TemplateCallee::text() const {
  const Tables& t = p_.tables();
  std::string s = (is_library() ? "" : "@") + std::string(t.strings[f_.name]);
  if (is_library()) return s;
  const Attr& a = t.attrs[attrs_];
  for (std::size_t k = 0; k < a.keys.size(); ++k)
    s += (k ? ", " : "<") + std::string(t.strings[a.keys[k]]) + "=" + attr_text(t, a.items[k]);
  return a.keys.empty() ? s : s + ">";
}

const std::vector<GlobalUse>& TemplateCallee::globals() const { return p_.globals_of(source_, f_); }

std::optional<DType> TemplateCallee::literal_dtype(std::span<const TypeId> args, std::size_t k,
                                                   std::optional<DType> written) const {
  if (k >= f_.params.size()) return std::nullopt;
  if (!f_.params[k].typed) return written;
  const Tables& t = p_.tables();
  const TypePattern& type = f_.params[k].type;
  Bindings b;
  for (std::size_t j = 0; j < std::min(args.size(), f_.params.size()); ++j)
    if (f_.params[j].typed && args[j] != kNone<TypeId> && t.types[args[j]].is_tensor())
      bind_dtype(f_.params[j].type, t.types.dtype(args[j]), b);
  if (written) bind_dtype(type, *written, b);
  const auto bound = dtype_of(type, b);
  return bound ? bound : default_of_class(type);
}

std::optional<std::vector<TypeId>> TemplateCallee::fixed_types() {
  std::vector<TypeId> out;
  for (const Param& p : f_.params) {
    const auto type = p.typed ? concrete_type(p_.tables(), source_.module, p.type) : std::nullopt;
    if (!type) return std::nullopt;
    out.push_back(*type);
  }
  return out;
}

std::optional<DType> TemplateCallee::hint(std::span<const TypeId> args, std::size_t k) {
  return literal_dtype(args, k, std::nullopt);
}

Result<Unit> TemplateCallee::bind(std::span<const TypeId> args, Bindings& b) const {
  Tables& t = p_.tables();
  const Attr a = t.attrs[attrs_];
  for (std::size_t k = 0; k < a.keys.size(); ++k) b.attrs.names.emplace_back(str(a.keys[k]), a.items[k]);
  for (std::size_t k = 0; k < args.size(); ++k) {
    const Param& param = f_.params[k];
    if (!param.typed) continue;
    const auto expected = match(t, source_.module, param.type, args[k], b);
    if (!expected) continue;
    const auto dtype = dtype_of(param.type, b);
    const bool other = dtype && t.types[args[k]].is_tensor() && *dtype != t.types.dtype(args[k]);
    return Error{Code::Type, "[" + text() + "] %" + std::string(t.strings[param.name]) + ": expected " + *expected +
                                 ", got " + t.types.text(args[k]) +
                                 (other ? "; there is no implicit conversion, use cast" : "")};
  }
  return Unit{};
}

Result<FunctionId> TemplateCallee::code(std::span<const TypeId> args) {
  Bindings b;
  if (Result<Unit> bound = bind(args, b); !bound) return bound.error();
  Program::Visit visit(p_, &f_, text());
  if (!visit.status()) return visit.status().error();
  Elaborator e(p_, source_, f_.loc, b);
  return e.function(f_, args);
}

Result<FunctionId> TemplateCallee::make(std::span<const TypeId> args) {
  if (f_.attrs.empty()) return code(args);
  Result<AttrId> attrs = call_attrs(args);
  if (!attrs) return attrs.error();
  Builder b(p_.tables(), p_.options().builder, text());
  b.set_function_loc(f_.loc);
  if (is_full()) b.set_full(true);
  std::vector<ValueId> params;
  for (std::size_t k = 0; k < args.size(); ++k) {
    params.push_back(b.param(args[k], f_.params[k].mut));
    b.name(params[k], names_[k]);
  }
  return b.seal(b.emit_all(Op::call, params, *attrs));
}

Result<AttrId> TemplateCallee::call_attrs(std::span<const TypeId> args) {
  if (f_.attrs.empty()) return Callee::call_attrs(args);
  InstanceKey key = this->key(args);
  if (const auto it = calls_.find(key); it != calls_.end()) return it->second;
  if (args.size() != f_.params.size())
    return Error{Code::Type, text() + " takes " + std::to_string(f_.params.size()) + " arguments, got " +
                                 std::to_string(args.size())};
  Result<FunctionId> own = code(args);
  if (!own) return own.error();
  AttrId attrs = p_.tables().attrs.dict({{Key::callee, *own}});
  Program::Visit visit(p_, &f_.attrs, "the rules of " + text());
  if (!visit.status()) return visit.status().error();
  if (Status s = add_rules(args, *own, attrs); !s) return s.error();
  calls_.emplace(std::move(key), attrs);
  return attrs;
}

Result<Callee*> TemplateCallee::rule(std::uint32_t node) {
  const Node& n = source_.module.nodes[node];
  NamedAttrs scope;
  const Attr& a = p_.tables().attrs[attrs_];
  for (std::size_t k = 0; k < a.keys.size(); ++k) scope.names.emplace_back(str(a.keys[k]), a.items[k]);
  if (n.kind == NodeKind::List && n.items.count == 1) return rule(n.items.begin);
  if (n.kind != NodeKind::Func) return Error{Code::Type, "[" + text() + "] a rule must be a function"};
  return p_.callee(source_, n.at, scope);
}

// A rule that can't be made for these types fails where it is used, not where its function is: in its place stands a
// function that fails with the message. `results` are the types that it must give, or of fwd begin with.
Result<FunctionId> TemplateCallee::rule_or_failure(Key kind, Callee& rule, std::span<const TypeId> args,
                                                   std::span<const TypeId> results, bool prefix) {
  Tables& t = p_.tables();
  Result<FunctionId> made = rule.instantiate(args);
  if (made) {
    std::vector<TypeId> got = t.body(*made).result_types();
    if (prefix && got.size() > results.size()) got.resize(results.size());
    if (std::ranges::equal(got, results)) return made;
    made = Error{Code::Type,
                 rule.text() + " gives " + types_text(t.types, got) + ", expected " + types_text(t.types, results)};
  }
  if (made.error().code == Code::Limit || made.error().message.starts_with("cycle of calls")) return made;
  Result<FunctionId> failing = failing_rule(kind, rule.text(), args, results, made.error());
  return failing ? failing : made;
}

Result<FunctionId> TemplateCallee::failing_rule(Key kind, const std::string& rule, std::span<const TypeId> args,
                                                std::span<const TypeId> results, const Error& e) {
  Tables& t = p_.tables();
  Builder b(t, p_.options().builder, rule);
  for (TypeId type : args) b.param(type);
  const std::string message =
      "the " + std::string(t.strings[kind]) + " rule of " + text() + " can't be made: " + e.message;
  b.set_loc(e.loc);
  b.emit(Op::assert_, {b.scalar(DType::Bool, 0.0)}, {{Key::message, std::string_view(message)}});
  std::vector<ValueId> values;
  for (TypeId type : results) values.push_back(t.types[type].is_tensor() ? b.zeros(type) : kNoValue);
  return b.seal(values);
}

Status TemplateCallee::add_rules(std::span<const TypeId> args, FunctionId own, AttrId& attrs) {
  Tables& t = p_.tables();
  const std::vector<TypeId> outputs = t.body(own).result_types();
  std::vector<TypeId> tangents = outputs;
  append_tangents(t.types, outputs, tangents);
  bool implicit = false;
  for (const Entry& e : Module::at(source_.module.entries, f_.attrs)) {
    if (std::ranges::find(kImplicitKeys, e.key) != std::end(kImplicitKeys)) {
      implicit = true;
      continue;
    }
    if (std::ranges::find(kRuleKeys, e.key) == std::end(kRuleKeys))
      return Error{Code::Type, "[" + text() + "] has no use for the attribute '" + std::string(t.strings[e.key]) + "'",
                   f_.loc};
    std::vector<TypeId> in(args.begin(), args.end());
    if (e.key == Key::policy) {
      NamedAttrs none;
      Result<AttrId> policy = eval_attr(t, source_.module, e.node, none);
      if (!policy) return policy.error();
      attrs = t.attrs.with(attrs, Key::policy, *policy);
    } else if (e.key != Key::custom_vjp) {
      Result<Callee*> f = rule(e.node);
      if (!f) return f.error();
      const bool jvp = e.key == Key::custom_jvp;
      if (!jvp) in.insert(in.end(), outputs.begin(), outputs.end());
      append_tangents(t.types, args, in);
      const std::vector<TypeId> out(tangents.begin() + (jvp ? 0 : static_cast<std::ptrdiff_t>(outputs.size())),
                                    tangents.end());
      Result<FunctionId> made = rule_or_failure(e.key, **f, in, out, false);
      if (!made) return made.error();
      attrs = t.attrs.with(attrs, jvp ? Key::jvp : Key::derivative, t.attrs.of(*made));
    } else {
      const Node& list = source_.module.nodes[e.node];
      if (list.kind != NodeKind::List || list.items.count != 2)
        return Error{Code::Type, "[" + text() + "] custom_vjp must be [@fwd, @bwd]", f_.loc};
      Result<Callee*> fwd = rule(list.items.begin), bwd = rule(list.items.begin + 1);
      if (!fwd) return fwd.error();
      if (!bwd) return bwd.error();
      Result<FunctionId> forward = rule_or_failure(e.key, **fwd, in, outputs, true);
      if (!forward) return forward.error();
      std::vector<TypeId> residuals = t.body(*forward).result_types(), cotangents;
      residuals.erase(residuals.begin(),
                      residuals.begin() + static_cast<std::ptrdiff_t>(std::min(residuals.size(), outputs.size())));
      append_tangents(t.types, outputs, residuals);
      append_tangents(t.types, args, cotangents);
      Result<FunctionId> backward = rule_or_failure(e.key, **bwd, residuals, cotangents, false);
      if (!backward) return backward.error();
      attrs = t.attrs.with(t.attrs.with(attrs, Key::fwd, t.attrs.of(*forward)), Key::bwd, t.attrs.of(*backward));
    }
  }
  return implicit ? add_implicit(args, outputs, attrs) : ok();
}

}  // namespace tfvm
