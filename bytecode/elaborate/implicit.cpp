// The own rules of functions that solve an equation: which part of the arguments is what, and the rules for their
// types.
#include <algorithm>

#include "bytecode/elaborate/elaborator.h"
#include "bytecode/elaborate/program.h"
#include "bytecode/own_rules.h"

namespace tfvm {

namespace {

using Types = std::span<const TypeId>;

std::vector<TypeId> joined(Types a, Types b) {
  std::vector<TypeId> out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

std::string list(const TypeTable& types, Types of) {
  std::string s = "(";
  for (std::size_t k = 0; k < of.size(); ++k) s += (k ? ", " : "") + types.text(of[k]);
  return s + ")";
}

// How the equation fits the function: of `args` the first `lead` go into it, of `outputs` the first `unknowns`.
struct Fit {
  FunctionId equation;
  std::size_t lead = 0, unknowns = 0;
};

// custom_root: f(c…, y…) of the leading arguments. custom_linear_solve: matvec(c…, y…), and y is as the other
// arguments.
Result<Fit> fit(const Tables& t, Callee& f, bool is_root, Types args, Types outputs, std::size_t unknowns) {
  const std::size_t most = is_root ? args.size() : args.size() - std::min(args.size(), unknowns);
  const Types y = outputs.first(unknowns);
  for (TypeId type : y)
    if (!t.types.is_differentiable(type))
      return Error{Code::Type, "an output of " + t.types.text(type) + " can't be solved for: it has no derivative"};
  Result<std::size_t> n = f.arity(joined(args.first(most), y));
  if (!n) return n.error();
  if (*n < unknowns || *n - unknowns > most || (!is_root && *n != args.size()))
    return Error{Code::Type, f.text() + " takes " + std::to_string(*n) + " arguments, expected " +
                                 (is_root ? "arguments of the function and then its outputs, of which there are " +
                                                std::to_string(unknowns)
                                          : std::to_string(args.size()) + " as the function")};
  const Fit out{{}, *n - unknowns, unknowns};
  if (!is_root && !std::ranges::equal(args.subspan(out.lead), y))
    return Error{Code::Type, "the right-hand sides " + list(t.types, args.subspan(out.lead)) + " and the solution " +
                                 list(t.types, y) + " must be alike"};
  Result<FunctionId> made = f.instantiate(joined(args.first(out.lead), y));
  if (!made) return made.error();
  const std::vector<TypeId> got = t.body(*made).result_types();
  if (!std::ranges::equal(got, y))
    return Error{Code::Type, f.text() + " gives " + list(t.types, got) + ", expected " + list(t.types, y)};
  return Fit{*made, out.lead, unknowns};
}

// The attributes of an implicit function, as written.
struct Written {
  const Entry *root = nullptr, *linear = nullptr, *solve = nullptr;
  bool has_aux = false, symmetric = false;

  const Entry& equation() const { return root ? *root : *linear; }
};

// Code::Type with the attribute that is wrong.
Result<Written> read(Tables& t, const Module& m, std::span<const Entry> entries) {
  Written w;
  const Entry *tangent = nullptr, *transpose = nullptr;
  std::string_view other;  // an attribute that says nothing by itself
  for (const Entry& e : entries) {
    if (e.key == Key::custom_root) w.root = &e;
    if (e.key == Key::custom_linear_solve) w.linear = &e;
    if (e.key == Key::tangent_solve) tangent = &e;
    if (e.key == Key::transpose_solve) transpose = &e;
    if (e.key != Key::has_aux && e.key != Key::symmetric) continue;
    NamedAttrs none;
    Result<AttrId> v = eval_attr(t, m, e.node, none);
    if (!v) return v.error();
    other = t.strings[e.key];
    if (t.attrs[*v].kind != AttrKind::Bool) return Error{Code::Type, std::string(other) + " must be true or false"};
    (e.key == Key::has_aux ? w.has_aux : w.symmetric) = t.attrs[*v].i != 0;
  }
  if (w.root && w.linear) return Error{Code::Type, "has more than one rule for its derivative"};
  if (tangent && !w.root) return Error{Code::Type, "has no use for 'tangent_solve' without custom_root"};
  if ((transpose || w.symmetric) && !w.linear)
    return Error{Code::Type, "has no use for '" + std::string(transpose ? "transpose_solve" : "symmetric") +
                                 "' without custom_linear_solve"};
  if (!w.root && !w.linear)
    return Error{Code::Type, "has no use for '" + std::string(other) + "' without custom_root or custom_linear_solve"};
  if (transpose && w.symmetric) return Error{Code::Type, "is symmetric: it has no use for a transpose_solve"};
  w.solve = w.root ? tangent : transpose;
  return w;
}

bool is_lasting(const Error& e) { return e.code == Code::Limit || e.message.starts_with("cycle of calls"); }

}  // namespace

// Where the equation can't be made for these types, the function's derivative fails where it is used.
Status TemplateCallee::fail_implicit(std::span<const TypeId> args, std::span<const TypeId> outputs, Key kind,
                                     const std::string& rule, const Error& e, AttrId& attrs) {
  if (is_lasting(e)) return e;
  Tables& t = p_.tables();
  std::vector<TypeId> in = joined(args, outputs), out;
  for (TypeId type : args)
    if (t.types.is_differentiable(type)) in.push_back(type);
  for (TypeId type : outputs)
    if (t.types.is_differentiable(type)) out.push_back(type);
  Result<FunctionId> failing = failing_rule(kind, rule, in, out, e);
  if (!failing) return e;
  attrs = t.attrs.with(attrs, Key::derivative, t.attrs.of(*failing));
  return ok();
}

Status TemplateCallee::add_implicit(std::span<const TypeId> args, std::span<const TypeId> outputs, AttrId& attrs) {
  Tables& t = p_.tables();
  Result<Written> w = read(t, source_.module, Module::at(source_.module.entries, f_.attrs));
  if (w && has_own_rule(t.attrs, attrs)) w = Error{Code::Type, "has more than one rule for its derivative"};
  if (!w) return Error{w.error().code, "[" + text() + "] " + w.error().message, f_.loc};
  Result<Callee*> f = rule(w->equation().node);
  if (!f) return f.error();
  // With aux, the solution is as much of the outputs as the equation takes and gives.
  Result<Fit> found = Error{Code::Type, "no output is left for the solution"};
  for (std::size_t n = outputs.size() - std::min<std::size_t>(outputs.size(), w->has_aux); n > 0; --n) {
    found = fit(t, **f, w->root != nullptr, args, outputs, n);
    if (found || !w->has_aux) break;
  }
  if (!found) return fail_implicit(args, outputs, w->equation().key, (*f)->text(), found.error(), attrs);
  attrs = t.attrs.with(attrs, w->root ? Key::root : Key::matvec, t.attrs.of(found->equation));
  if (w->symmetric) attrs = t.attrs.with(attrs, Key::transpose_solve, t.attrs.get(attrs, Key::callee));
  if (!w->solve) return ok();
  const Types y = outputs.first(found->unknowns);
  Result<Callee*> solver = rule(w->solve->node);
  if (!solver) return solver.error();
  const std::vector<TypeId> in = w->root ? joined(joined(args.first(found->lead), y), y) : joined(args, {});
  Result<FunctionId> made = rule_or_failure(w->solve->key, **solver, in, y, w->linear != nullptr);
  if (!made) return made.error();
  attrs = t.attrs.with(attrs, w->solve->key, t.attrs.of(*made));
  return ok();
}

}  // namespace tfvm
