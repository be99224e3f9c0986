// A function's statements in order: places, definitions, what blocks end with.
#include <algorithm>

#include "bytecode/elaborate/elaborator.h"

namespace tfvm {

bool Elaborator::fail(Error e) {
  if (error_) return false;
  if (e.loc.line == 0) e.loc = loc_;
  error_ = std::move(e);
  return false;
}

bool Elaborator::fail(Code code, std::string message) { return fail(Error(code, std::move(message), loc_)); }

void Elaborator::set_place(Place p) {
  if (p.line == 0) return;
  loc_ = {loc_.file, p.line, p.col};
  b().set_loc(loc_);
}

std::optional<TypeId> Elaborator::type_of(Local l) const {
  for (const Frame* f = f_; f; f = f->parent)
    if (const ValueId v = f->values.get(l); v != kNoValue) return f->b.type(v);
  return std::nullopt;
}

Result<AttrId> Elaborator::function(std::uint32_t expr) {
  if (function_types_.empty()) return Error{Code::Type, "a function can't stand here"};
  Result<Callee*> callee = p_.callee(source_, expr, *this);
  if (!callee) return callee.error();
  Result<FunctionId> f = (*callee)->instantiate(function_types_);
  if (!f) return f.error();
  return t_.attrs.of(*f);
}

Elaborator::Values Elaborator::Exit::all() const {
  Values v = first;
  v.insert(v.end(), second.begin(), second.end());
  return v;
}

Result<FunctionId> Elaborator::function(const Template& f, std::span<const TypeId> args) {
  name_ = t_.strings[f.name];
  core_options_ = p_.options().builder;
  Frame frame{Builder(t_, core_options_, name_), nullptr, Slots(f.num_locals)};
  f_ = &frame;
  frame.b.set_function_loc(f.loc);
  if (p_.is_full(source_, f)) frame.b.set_full(true);
  for (std::size_t k = 0; k < args.size(); ++k) {
    const ValueId v = frame.b.param(args[k], f.params[k].mut);
    frame.values.set(static_cast<Local>(k), v);
    frame.b.name(v, f.params[k].name);
  }
  std::vector<std::optional<DType>> hints;
  for (const TypePattern& type : f.results) hints.push_back(dtype_of(type, bind_));
  Exit exit;
  if (!statements(block(f.block).stmts, StmtKind::Ret, hints, {}, exit)) return *error_;
  if (f.has_results && !results_fit(f, exit.first)) return *error_;
  Result<FunctionId> made = frame.b.seal(exit.first);
  if (!made && made.error().loc.line == 0) made.error().loc = loc_;
  return made;
}

bool Elaborator::results_fit(const Template& f, const Values& results) {
  const std::string name = "[" + std::string(source_.space == Space::User ? "@" : "") + name_ + "]";
  if (results.size() != f.results.size())
    return fail(Code::Type, name + " gives " + std::to_string(results.size()) +
                                (results.size() == 1 ? " result, " : " results, ") + std::to_string(f.results.size()) +
                                " types are written");
  for (std::size_t k = 0; k < results.size(); ++k) {
    const TypeId type = b().type(results[k]);
    if (const auto expected = match(t_, m_, f.results[k], type, bind_))
      return fail(Code::Type,
                  name + " result " + std::to_string(k) + ": expected " + *expected + ", got " + t_.types.text(type));
  }
  return true;
}

bool Elaborator::statements(Range stmts, StmtKind end, Hints first, Hints second, Exit& out) {
  for (std::uint32_t k = 0; k < stmts.count; ++k) {
    const Stmt& s = m_.stmts[stmts.begin + k];
    set_place(s.place);
    if (s.kind == StmtKind::Ret || s.kind == StmtKind::Yield) {
      if (s.kind != end)
        return fail(Code::Type, end == StmtKind::Ret ? "yield ends a block; a function ends with ret"
                                                     : "ret ends a function; a block ends with yield");
      if (k + 1 != stmts.count) return fail(Code::Type, "statements behind this one are never reached");
      return values(s.operands, first, out.first) && values(s.args, second, out.second);
    }
    if (!statement(s)) return false;
  }
  return true;
}

bool Elaborator::statement(const Stmt& s) {
  bool good = false;
  switch (s.kind) {
    case StmtKind::Op:
      good = op(s);
      break;
    case StmtKind::Call:
      good = call(s);
      break;
    case StmtKind::ExpectError:
      return fail(Code::Type, "expect_error stands only in a test");
    default:
      good = control(s);
  }
  if (good && !b().failed()) return true;
  return b().failed() ? fail(b().error()) : false;
}

bool Elaborator::define(const Stmt& s, const Values& results) {
  if (b().failed()) return fail(b().error());
  if (s.results.count != 0 && s.results.count != results.size())
    return fail(Code::Type, what(s) + " gives " + std::to_string(results.size()) +
                                (results.size() == 1 ? " result, " : " results, ") + std::to_string(s.results.count) +
                                (s.results.count == 1 ? " is named" : " are named"));
  if (s.has_types && s.types.count != results.size())
    return fail(Code::Type, what(s) + " gives " + std::to_string(results.size()) +
                                (results.size() == 1 ? " result, " : " results, ") + std::to_string(s.types.count) +
                                (s.types.count == 1 ? " type is written" : " types are written"));
  for (std::uint32_t k = 0; s.has_types && k < s.types.count; ++k) {
    const TypeId type = b().type(results[k]);
    if (const auto expected = match(t_, m_, m_.types[s.types.begin + k], type, bind_))
      return fail(Code::Type, what(s) + " result " + std::to_string(k) + ": expected " + *expected + ", got " +
                                  t_.types.text(type));
  }
  for (std::uint32_t k = 0; k < s.results.count; ++k) {
    f_->values.set(s.first_local + k, results[k]);
    b().name(results[k], m_.result_names[s.results.begin + k]);
  }
  last_ = results;
  return true;
}

std::string Elaborator::what(const Stmt& s) const {
  constexpr std::string_view kForms[] = {"",           "call", "cond", "switch", "while", "scan",
                                         "checkpoint", "if",   "for",  "ret",    "yield", "expect_error"};
  return "[" + std::string(s.kind == StmtKind::Op ? t_.strings[s.op] : kForms[static_cast<std::size_t>(s.kind)]) + "]";
}

Result<FunctionId> Elaborator::statement(const Stmt& s, const Program::LocalTypes& types, std::vector<Local>& inputs,
                                         std::vector<StrId>& names, std::vector<Local>& rebound) {
  // Nothing is folded: a test runs what it says.
  core_options_ = p_.options().builder;
  core_options_.evaluator = nullptr;
  name_ = "test";
  Frame frame{Builder(t_, core_options_, name_), nullptr, Slots(0)};
  f_ = &frame;
  const bool expects = s.kind == StmtKind::Op && t_.strings[s.op].starts_with("expect_");
  if (!expects && (p_.is_full(source_, s) || is_view_op(s))) frame.b.set_full();
  std::vector<Mention> used;
  std::unordered_set<Local> seen;
  mentions(s, used, seen);
  for (const Mention& u : used) {
    const auto type = types(u.local);
    if (!type) continue;
    const ValueId v = frame.b.param(*type);
    frame.values.set(u.local, v);
    frame.b.name(v, u.name);
    inputs.push_back(u.local);
    names.push_back(u.name);
  }
  set_place(s.place);
  if (expects ? !expectation(s) : !statement(s)) return *error_;
  for (Local l : rebound_) {
    if (std::ranges::find(inputs, l) == inputs.end()) continue;
    rebound.push_back(l);
    last_.push_back(frame.values.get(l));
  }
  return frame.b.seal(last_);
}

// The operands of an expectation are its results. A literal takes the dtype of the other one, and its shape where it
// has no elements to show one.
bool Elaborator::expectation(const Stmt& s) {
  const auto operands = Module::at(m_.operands, s.operands);
  last_.assign(operands.size(), kNoValue);
  std::optional<TypeId> type;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (is_literal(operands[k])) continue;
    if (!value(operands[k], {}, nullptr, last_[k])) return false;
    if (!type) type = b().type(last_[k]);
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!is_literal(operands[k])) continue;
    const auto dtype = type && t_.types[*type].is_tensor() ? std::optional(t_.types.dtype(*type)) : std::nullopt;
    if (!value(operands[k], dtype, nullptr, last_[k])) return false;
    const TypeId got = b().type(last_[k]);
    if (dtype && t_.types.elements(got) == 0 && t_.types.elements(*type) == 0)
      last_[k] = b().constant(t_.consts.intern(*type, {}));
  }
  return true;
}

Result<ConstId> Elaborator::global_literal(const Global& g, TypeId type) {
  Frame frame{Builder(t_, {}, t_.strings[g.name]), nullptr, Slots(0)};
  f_ = &frame;
  Operand o;
  o.kind = OperandKind::Literal;
  o.at = g.literal;
  ValueId v = kNoValue;
  if (!literal(o, t_.types.dtype(type), type, v)) return *error_;
  if (frame.b.type(v) == type) return *frame.b.const_of(v);
  return Error{Code::Type,
               "@" + std::string(t_.strings[g.name]) + ": expected " + t_.types.text(type) + ", got " +
                   t_.types.text(frame.b.type(v)),
               g.loc};
}

Result<FunctionId> Elaborator::global_call(const Global& g, TypeId type) {
  name_ = t_.strings[g.name];
  Frame frame{Builder(t_, p_.options().builder, name_), nullptr, Slots(0)};
  f_ = &frame;
  Result<Callee*> callee = p_.callee(source_, g.callee, *this);
  if (!callee) return callee.error();
  if ((*callee)->is_full()) frame.b.set_full();
  Stmt s;
  s.kind = StmtKind::Call;
  Values args, results;
  if (!arguments(**callee, g.args, s, args) || !emit_call(**callee, args, t_.attrs.none(), results)) return *error_;
  if (results.size() == 1 && frame.b.type(results[0]) == type) return frame.b.seal(results);
  return Error{Code::Type,
               "@" + std::string(t_.strings[g.name]) + ": its initialiser must give one " + t_.types.text(type), g.loc};
}

}  // namespace tfvm
