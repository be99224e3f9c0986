// Calls, and the forms of control flow that name their functions.
#include "bytecode/elaborate/elaborator.h"
#include "bytecode/nested_types.h"
#include "bytecode/policy.h"

namespace tfvm {

std::vector<TypeId> Elaborator::types(const Values& values) const {
  std::vector<TypeId> out;
  for (ValueId v : values) out.push_back(f_->b.type(v));
  return out;
}

bool Elaborator::callee(const Operand& o, Callee*& out) {
  if (o.kind != OperandKind::Callee) return fail(Code::Type, "a function must stand here");
  Result<Callee*> c = p_.callee(source_, o.at, *this);
  if (!c) return fail(std::move(c).error());
  out = *c;
  return true;
}

// The place of an error inside a function of the stdlib is the user's line; others keep theirs and say how they came
// about.
bool Elaborator::callee_error(Error e, const std::string& text, bool library) {
  constexpr std::size_t kMaxNotes = 12;
  if (library && source_.space == Space::User) {
    std::string note = "in the definition of " + text;
    if (e.loc.line != 0) note += ", line " + std::to_string(e.loc.line);
    e.notes.push_back(note);
    e.loc = loc_;
  } else if (e.loc.line != 0 && e.notes.size() < kMaxNotes) {
    if (!e.notes.empty() && e.notes.back() == "in " + text) e.notes.pop_back();
    e.notes.push_back("in " + text + " called at line " + std::to_string(loc_.line));
  }
  return fail(std::move(e));
}

bool Elaborator::instantiate(Callee& callee, std::span<const TypeId> args, FunctionId& out) {
  Result<FunctionId> f = callee.instantiate(args);
  if (!f) return callee_error(std::move(f).error(), callee.text(), callee.is_library());
  out = *f;
  return true;
}

bool Elaborator::emit_call(Callee& callee, const Values& args, AttrId policy, Values& out) {
  Result<AttrId> attrs = callee.call_attrs(types(args));
  if (!attrs) return callee_error(std::move(attrs).error(), callee.text(), callee.is_library());
  AttrId with = *attrs;
  if (const auto known = policy != t_.attrs.none() ? checkpoint_policy(t_, policy) : CheckpointPolicy{}; !known)
    return fail(known.error());
  if (policy != t_.attrs.none()) with = t_.attrs.with(with, Key::policy, policy);
  out = b().emit_all(Op::call, args, with);
  return !b().failed() || fail(b().error());
}

bool Elaborator::call(const Stmt& s) {
  Callee* f = nullptr;
  AttrId attrs = t_.attrs.empty();
  Values args, results;
  if (!complete(s) || !callee(m_.operands[s.operands.begin], f) || !attributes(s, {}, attrs)) return false;
  for (Key key : t_.attrs[attrs].keys)
    if (key != Key::policy)
      return fail(Code::Type, "[call] has no attribute '" + std::string(t_.strings[key]) +
                                  "'; those of a function stand behind its name: @f<" + std::string(t_.strings[key]) +
                                  "=…>");
  return arguments(*f, s.args, s, args) && emit_call(*f, args, t_.attrs.get(attrs, Key::policy), results) &&
         define(s, results);
}

bool Elaborator::checkpoint(const Stmt& s) {
  Callee* f = nullptr;
  AttrId attrs = t_.attrs.empty();
  Values args, results;
  if (!callee(m_.operands[s.operands.begin], f) || !attributes(s, {}, attrs)) return false;
  for (Key key : t_.attrs[attrs].keys)
    if (key != Key::policy)
      return fail(Code::Type, "[checkpoint] has no attribute '" + std::string(t_.strings[key]) + "'");
  AttrId policy = t_.attrs.get(attrs, Key::policy);
  if (policy == t_.attrs.none()) policy = t_.attrs.of(std::string_view("nothing_saveable"));
  return arguments(*f, s.args, s, args) && emit_call(*f, args, policy, results) && define(s, results);
}

// What text always gives and a binary may lack: a form's operands and blocks.
bool Elaborator::complete(const Stmt& s) {
  const bool blocks = s.control != kNoIndex;
  const std::uint32_t need = s.kind == StmtKind::Cond                              ? 3
                             : s.kind == StmtKind::Switch                          ? 2
                             : s.kind == StmtKind::While                           ? (blocks ? 0 : 2)
                             : s.kind == StmtKind::Scan || s.kind == StmtKind::For ? (blocks ? 0 : 1)
                                                                                   : 1;
  bool good = s.operands.count == need && (blocks || s.kind != StmtKind::If);
  if (good && blocks) {
    const auto& k = m_.controls[s.control].blocks;
    const bool two = s.kind == StmtKind::If || s.kind == StmtKind::While;
    good = k[0] < m_.blocks.size() && (!two || k[1] < m_.blocks.size());
  }
  return good || fail(Code::Syntax, what(s) + " lacks an operand or a block");
}

bool Elaborator::control(const Stmt& s) {
  if (!complete(s)) return false;
  const bool blocks = s.control != kNoIndex;
  switch (s.kind) {
    case StmtKind::Cond:
    case StmtKind::Switch:
      return branches(s);
    case StmtKind::While:
      return blocks ? while_blocks(s) : while_functions(s);
    case StmtKind::Scan:
    case StmtKind::For:
      return blocks ? scan_block(s) : scan_function(s);
    case StmtKind::Checkpoint:
      return checkpoint(s);
    default:
      return if_blocks(s);
  }
}

bool Elaborator::branches(const Stmt& s) {
  const bool is_cond = s.kind == StmtKind::Cond;
  const auto written = Module::at(m_.operands, s.operands);
  std::vector<Callee*> callees;
  if (is_cond) {
    for (std::size_t k = 1; k < written.size(); ++k)
      if (!callee(written[k], callees.emplace_back())) return false;
  } else {
    for (std::uint32_t k = 0; written.size() > 1 && k < written[1].count; ++k) {
      Operand one = written[1];
      one.kind = OperandKind::Callee;
      one.at += k;
      if (!callee(one, callees.emplace_back())) return false;
    }
  }
  if (callees.empty()) return fail(Code::Type, what(s) + " needs a branch");
  Values operands(1, kNoValue), args;
  AttrId attrs = t_.attrs.empty();
  if (!value(written[0], is_cond ? DType::Bool : DType::I64, nullptr, operands[0]) || !attributes(s, {}, attrs) ||
      !arguments(*callees[0], s.args, s, args))
    return false;
  std::vector<AttrId> functions;
  for (Callee* c : callees) {
    FunctionId f;
    if (!instantiate(*c, types(args), f)) return false;
    functions.push_back(t_.attrs.of(f));
  }
  operands.insert(operands.end(), args.begin(), args.end());
  if (is_cond)
    attrs = t_.attrs.with(t_.attrs.with(attrs, Key::then, functions[0]), Key::else_, functions[1]);
  else
    attrs = t_.attrs.with(attrs, Key::branches, t_.attrs.list(functions));
  return define(s, b().emit_all(is_cond ? Op::cond : Op::switch_, operands, attrs));
}

bool Elaborator::count(AttrId attrs, Key key, std::size_t limit, std::size_t& out) {
  const Attr a = t_.attrs[t_.attrs.get(attrs, key)];
  out = 0;
  if (a.kind == AttrKind::None) return true;
  if (a.kind != AttrKind::Int || a.i < 0 || static_cast<std::uint64_t>(a.i) > limit)
    return fail(Code::Type, "the attribute '" + std::string(t_.strings[key]) + "' must be a count of at most " +
                                std::to_string(limit) + " operands");
  out = static_cast<std::size_t>(a.i);
  return true;
}

// while @cond, @body (cond consts…, body consts…, carries…)
bool Elaborator::while_functions(const Stmt& s) {
  Callee *cond = nullptr, *body = nullptr;
  AttrId attrs = t_.attrs.empty();
  std::size_t nc = 0, nb = 0;
  if (!callee(m_.operands[s.operands.begin], cond) || !callee(m_.operands[s.operands.begin + 1], body) ||
      !attributes(s, {}, attrs) || !count(attrs, Key::cond_consts, s.args.count, nc) ||
      !count(attrs, Key::body_consts, s.args.count - nc, nb))
    return false;
  Values args;
  const auto hint = [&](std::span<const TypeId> known, std::size_t k) {
    return k < nc ? cond->hint(known, k) : body->hint(known.subspan(nc), k - nc);
  };
  if (!arguments(s.args, hint, s, args)) return false;
  const std::vector<TypeId> all = types(args);
  std::vector<TypeId> cond_types(all);
  cond_types.erase(cond_types.begin() + static_cast<std::ptrdiff_t>(nc),
                   cond_types.begin() + static_cast<std::ptrdiff_t>(nc + nb));
  FunctionId c, f;
  if (!instantiate(*cond, cond_types, c) || !instantiate(*body, std::span(all).subspan(nc), f)) return false;
  attrs = t_.attrs.with(t_.attrs.with(attrs, Key::cond, t_.attrs.of(c)), Key::body, t_.attrs.of(f));
  return define(s, b().emit_all(Op::while_, args, attrs));
}

// scan @body (consts…, carries…, xs…)
bool Elaborator::scan_function(const Stmt& s) {
  Callee* body = nullptr;
  AttrId attrs = t_.attrs.empty();
  std::size_t consts = 0, carry = 0;
  Values args;
  if (!callee(m_.operands[s.operands.begin], body) || !attributes(s, {}, attrs) ||
      !count(attrs, Key::consts, s.args.count, consts) || !count(attrs, Key::carry, s.args.count - consts, carry))
    return false;
  const auto hint = [&](std::span<const TypeId> known, std::size_t k) { return body->hint(known, k); };
  if (!arguments(s.args, hint, s, args)) return false;
  const std::span<const ValueId> xs = std::span(args).subspan(consts + carry);
  std::vector<TypeId> in = types(args);
  std::int64_t steps = 0;
  if (!length(s, attrs, xs, steps)) return false;
  for (std::size_t k = consts + carry; k < in.size(); ++k) in[k] = slice_type(in[k]);
  FunctionId f;
  if (!instantiate(*body, in, f)) return false;
  attrs = t_.attrs.with(attrs, Key::body, t_.attrs.of(f));
  return define(s, b().emit_all(Op::scan, args, attrs));
}

TypeId Elaborator::slice_type(TypeId x) { return step_type(t_.types, x); }

// The number of steps: the attribute, or the leading dim of the inputs.
bool Elaborator::length(const Stmt& s, AttrId& attrs, std::span<const ValueId> xs, std::int64_t& out) {
  for (ValueId x : xs)
    if (!leading_size(t_.types, b().type(x)))
      return fail(Code::Type,
                  what(s) + " steps along the leading dim of its inputs; one is " + t_.types.text(b().type(x)));
  if (t_.attrs.has(attrs, Key::length)) {
    const Attr a = t_.attrs[t_.attrs.get(attrs, Key::length)];
    if (a.kind != AttrKind::Int || a.i < 0) return fail(Code::Type, what(s) + " length must be a count");
    out = a.i;
    return true;
  }
  if (xs.empty()) return fail(Code::Type, what(s) + " needs the attribute 'length', as it has no inputs");
  out = *leading_size(t_.types, b().type(xs[0]));
  attrs = t_.attrs.with(attrs, Key::length, t_.attrs.of(out));
  return true;
}

}  // namespace tfvm
