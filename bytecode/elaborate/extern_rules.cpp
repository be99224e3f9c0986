// Rules of custom ops: functions of the program or other custom ops, named by the declaration or by the host.
#include "bytecode/elaborate/program.h"
#include "bytecode/text/parse.h"

namespace tfvm {

namespace {

// The node of the declaration that tells a rule; null: it tells none.
const Node* declared_rule(const Module& m, StrId op, Key kind) {
  const auto declared = m.op_names.find(op);
  if (declared == m.op_names.end()) return nullptr;
  const bool pair = kind == Key::fwd || kind == Key::bwd;
  const Key written = pair ? Key::custom_vjp : kind == Key::jvp ? Key::custom_jvp : kind;
  for (const Entry& entry : Module::at(m.entries, m.externs[declared->second.at].attrs)) {
    if (entry.key != written) continue;
    const Node& n = m.nodes[entry.node];
    return pair ? &Module::at(m.nodes, n.items)[kind == Key::bwd] : &n;
  }
  return nullptr;
}

const std::string& host_rule(const ExternRules& rules, Key kind) {
  switch (kind) {
    case Key::derivative:
      return rules.derivative;
    case Key::jvp:
      return rules.custom_jvp;
    case Key::fwd:
      return rules.forward;
    case Key::bwd:
      return rules.backward;
    default:
      return rules.custom_vmap;
  }
}

Result<FunctionId> made(Result<Callee*> rule, std::span<const TypeId> args) {
  if (!rule) return rule.error();
  if ((*rule)->is_full()) return Error{Code::Type, (*rule)->text() + " writes: a rule may not"};
  return (*rule)->instantiate(args);
}

}  // namespace

Result<FunctionId> Program::op_as_function(StrId op, std::span<const TypeId> args) {
  const auto it = t_.externs.find(op);
  const std::string name(t_.strings[op]);
  if (it == t_.externs.end()) return Error{Code::Name, "there is no custom op '" + name + "'"};
  if (it->second.has_mut()) return Error{Code::Type, "[" + name + "] writes: a rule may not"};
  Builder b(t_, options_.builder, name);
  std::vector<ValueId> params;
  for (TypeId type : args) params.push_back(b.param(type));
  return b.seal(b.emit_all(Op::extern_, params, t_.attrs.dict({{Key::op, std::string_view(name)}})));
}

Result<FunctionId> Program::extern_rule(StrId op, Key kind, std::span<const TypeId> args) {
  if (const Node* n = declared_rule(user_.module, op, kind)) {
    NamedAttrs none;
    return n->kind == NodeKind::Str ? op_as_function(n->str, args) : made(callee(user_, n->at, none), args);
  }
  const auto host = host_rules_.find(op);
  const std::string text = host == host_rules_.end() ? "" : host_rule(host->second, kind);
  if (text.empty()) return FunctionId{};
  if (text.find_first_of("@(") == text.npos) return op_as_function(t_.strings.intern(text), args);
  const Result<ParsedCallee> parsed = parse_callee(t_.strings, text);
  if (!parsed) return parsed.error();
  return made(callee(parsed->pools, parsed->callee), args);
}

bool Program::has_extern_rule(StrId op, Key kind) const {
  const auto host = host_rules_.find(op);
  return declared_rule(user_.module, op, kind) ||
         (host != host_rules_.end() && !host_rule(host->second, kind).empty());
}

void Program::forget_failures() {
  for (const auto& [key, f] : templates_) f->forget_failures();
  for (const auto& [key, f] : derived_) f->forget_failures();
}

}  // namespace tfvm
