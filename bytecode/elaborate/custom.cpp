#include "bytecode/elaborate/custom.h"

#include <algorithm>

#include "bytecode/elaborate/elaborator.h"

namespace tfvm {

namespace {

std::string quoted(const Tables& t, StrId op) { return "[" + std::string(t.strings[op]) + "] "; }

// Names in lists=["xs", …]; nullptr: there is no such entry.
const Node* lists_of(const StringTable& strings, const Module& m, const Extern& e) {
  for (const Entry& entry : Module::at(m.entries, e.attrs))
    if (strings[entry.key] == "lists") return &m.nodes[entry.node];
  return nullptr;
}

Status types(Tables& t, const Module& m, const Extern& e, AttrId attrs, std::span<const TypeId> operands,
             std::vector<TypeId>& results) {
  const Result<ExternArgs> args = extern_args(t, attrs, operands.size());
  if (!args) return args.error();
  Bindings bound;
  std::size_t at = 0;
  for (std::size_t k = 0; k < e.params.size(); ++k)
    for (std::size_t n = args->counts[k]; n > 0; --n, ++at) {
      if (!e.params[k].typed) continue;
      if (const auto expected = match(t, m, e.params[k].type, operands[at], bound))
        return Error(Code::Type, quoted(t, e.op) + "operand '" + std::string(t.strings[e.params[k].name]) +
                                     "': expected " + *expected + ", got " + t.types.text(operands[at]));
    }
  for (const TypePattern& p : e.results) {
    const auto type = bound_type(t, m, p, bound);
    if (!type)
      return Error(Code::Type, quoted(t, e.op) + "its operands don't tell the size of " + pattern_text(t, m, p));
    results.push_back(*type);
  }
  return ok();
}

}  // namespace

static Result<ExternInfo> info_of(const Tables& t, const Module& m, const Extern& e) {
  ExternInfo info;
  for (const Param& p : e.params) info.params.push_back({p.name, p.mut, false});
  if (const Node* lists = lists_of(t.strings, m, e))
    for (const Node& item : Module::at(m.nodes, lists->items)) {
      const auto param = std::ranges::find(info.params, item.str, &ExternParam::name);
      if (item.kind != NodeKind::Str || param == info.params.end())
        return Error(Code::Name, quoted(t, e.op) + "lists=[\"…\"] names parameters", e.loc);
      param->list = true;
    }
  return info;
}

// Rules are functions of the program, or other custom ops by their names.
static Status check_rules(const Tables& t, const Module& m, const Extern& e) {
  constexpr Key kRules[] = {Key::derivative, Key::custom_jvp, Key::custom_vmap, Key::custom_vjp};
  const auto is_rule = [](const Node& n) { return n.kind == NodeKind::Func || n.kind == NodeKind::Str; };
  for (const Entry& entry : Module::at(m.entries, e.attrs)) {
    const Node& node = m.nodes[entry.node];
    if (t.strings[entry.key] == "lists") continue;
    if (std::ranges::find(kRules, entry.key) == std::end(kRules))
      return Error(Code::Name, quoted(t, e.op) + "has no use for '" + std::string(t.strings[entry.key]) + "'", e.loc);
    const auto pair = Module::at(m.nodes, node.items);
    const bool good = entry.key == Key::custom_vjp
                          ? node.kind == NodeKind::List && pair.size() == 2 && is_rule(pair[0]) && is_rule(pair[1])
                          : is_rule(node);
    if (!good)
      return Error(Code::Type,
                   quoted(t, e.op) + std::string(t.strings[entry.key]) +
                       (entry.key == Key::custom_vjp ? " must be [@fwd, @bwd]" : " must be a function") +
                       ", or the names of other ops in quotes",
                   e.loc);
  }
  return ok();
}

Status check_externs(const Tables& t, const Module& m) {
  for (const Extern& e : m.externs)
    if (const Result<ExternInfo> info = info_of(t, m, e); !info)
      return info.error();
    else if (Status s = check_rules(t, m, e); !s)
      return s;
  return ok();
}

ExternInfo declared_extern(const Tables& t, const Module& m, std::size_t at) {
  ExternInfo info = *info_of(t, m, m.externs[at]);
  info.infer = [&m, at](Tables& tables, AttrId attrs, std::span<const TypeId> in, std::vector<TypeId>& out) {
    return types(tables, m, m.externs[at], attrs, in, out);
  };
  return info;
}

// Operands in the order of the parameters; (none) leaves one out. {xs=3} tells the length of a list; of one list alone
// it is what the other parameters leave.
bool Elaborator::custom(const Stmt& s, const Extern& e) {
  const ExternInfo& op = t_.externs.at(e.op);
  const auto written = Module::at(m_.operands, s.operands);
  AttrId given = t_.attrs.empty();
  if (!attributes(s, {}, given)) return false;
  const auto lists = static_cast<std::size_t>(std::ranges::count(op.params, true, &ExternParam::list));
  std::vector<std::size_t> counts;
  for (const ExternParam& p : op.params) {
    const AttrId n = p.list ? t_.attrs.get(given, static_cast<Key>(p.name)) : t_.attrs.none();
    const std::size_t others = op.params.size() - 1;
    std::size_t count = 1;
    if (t_.attrs[n].kind == AttrKind::Int && t_.attrs[n].i >= 0)
      count = static_cast<std::size_t>(t_.attrs[n].i);
    else if (p.list && lists == 1 && written.size() >= others)
      count = written.size() - others;
    else if (p.list)
      return fail(Code::Type,
                  what(s) + " needs the attribute '" + std::string(t_.strings[p.name]) + "', the length of that list");
    counts.push_back(count);
  }
  std::size_t wanted = 0;
  for (std::size_t n : counts) wanted = std::min(wanted + n, written.size() + 1);
  if (wanted != written.size())
    return fail(Code::Type, what(s) + " takes " + std::to_string(op.params.size()) + " arguments, got " +
                                std::to_string(written.size()) + " operands");
  return custom_operands(s, e, counts);
}

bool Elaborator::custom_operands(const Stmt& s, const Extern& e, std::span<const std::size_t> counts) {
  const auto written = Module::at(m_.operands, s.operands);
  Values all(written.size(), kNoValue);
  std::vector<std::size_t> param;  // of each operand
  for (std::size_t k = 0; k < counts.size(); ++k) param.insert(param.end(), counts[k], k);
  Bindings bound;
  std::vector<std::uint8_t> none(written.size(), 0);
  for (std::size_t k = 0; k < written.size(); ++k) {
    if (written[k].kind == OperandKind::Computed) {
      const Result<AttrId> v = eval_attr(t_, m_, written[k].at, *this);
      none[k] = v && *v == t_.attrs.none();
    }
    if (is_literal(written[k])) continue;
    if (!value(written[k], {}, nullptr, all[k])) return false;
    const Param& p = e.params[param[k]];
    if (p.typed && t_.types[b().type(all[k])].is_tensor()) bind_dtype(p.type, b().dtype(all[k]), bound);
  }
  Values operands;
  std::vector<AttrId> args;
  bool plain = true;
  for (std::size_t k = 0, at = 0; k < counts.size(); ++k) {
    std::size_t n = 0;
    for (; n < counts[k]; ++n, ++at) {
      const Param& p = e.params[k];
      if (none[at]) break;
      const auto dtype = !p.typed                  ? std::nullopt
                         : dtype_of(p.type, bound) ? dtype_of(p.type, bound)
                                                   : default_of_class(p.type);
      if (all[at] == kNoValue && p.mut)
        return fail(Code::Type,
                    what(s) + " writes into '" + std::string(t_.strings[p.name]) + "': a literal can't stand there");
      if (all[at] == kNoValue && !value(written[at], dtype, &s, all[at])) return false;
      operands.push_back(all[at]);
    }
    const bool left_out = n < counts[k];
    if (left_out && counts[k] != 1) return fail(Code::Type, what(s) + " none can't stand in a list");
    at += left_out ? 1 : 0;
    plain = plain && n == 1;
    args.push_back(left_out ? t_.attrs.none() : t_.attrs.of(static_cast<std::int64_t>(n)));
  }
  AttrId attrs = t_.attrs.dict({{Key::op, t_.strings[e.op]}});
  if (!plain) attrs = t_.attrs.with(attrs, Key::args, t_.attrs.list(args));
  AttrId given = t_.attrs.empty();
  if (!attributes(s, {}, given)) return false;
  if (t_.attrs.has(given, Key::inplace)) attrs = t_.attrs.with(attrs, Key::inplace, t_.attrs.get(given, Key::inplace));
  return define(s, b().emit_all(Op::extern_, operands, attrs));
}

}  // namespace tfvm
