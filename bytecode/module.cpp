#include "bytecode/module.h"

#include <algorithm>

#include "bytecode/defaults.h"

namespace tfvm {

namespace {

StrId name_of(const Module& m, const Item& item) {
  switch (item.kind) {
    case ItemKind::Func:
      return m.funcs[item.at].name;
    case ItemKind::Derived:
      return m.derived[item.at].name;
    case ItemKind::Global:
      return m.globals[item.at].name;
    case ItemKind::Extern:
      return m.externs[item.at].op;
    case ItemKind::Import:
    case ItemKind::Test:
      break;
  }
  return kNone<StrId>;
}

std::string place_text(Loc loc, Loc other, const StringTable& strings) {
  std::string s = "line " + std::to_string(loc.line);
  if (loc.file != other.file && loc.file != kNone<StrId>) s += " of " + std::string(strings[loc.file]);
  return s;
}

Error taken(const Module& m, const Item& item, const Module& of_first, const Item& first, const StringTable& strings) {
  const Loc here = m.loc_of(item);
  std::string message = item.kind == ItemKind::Extern ? "extern op \"" : "@";
  message += strings[name_of(m, item)];
  message += item.kind == ItemKind::Extern ? "\" is defined twice" : " is defined twice";
  const Loc there = of_first.loc_of(first);
  if (there.line != 0) message += "; the first one is on " + place_text(there, here, strings);
  return {Code::Name, message, here};
}

Error unknown(const Module& m, const Module* also, StrId name, Loc loc, const StringTable& strings) {
  std::vector<std::string_view> known;
  for (const auto& [id, item] : m.names) known.push_back(strings[id]);
  if (also)
    for (const auto& [id, item] : also->names) known.push_back(strings[id]);
  std::sort(known.begin(), known.end());
  std::string message = "@" + std::string(strings[name]) + " is not defined";
  if (const std::string near = near_miss(strings[name], known); !near.empty())
    message += "; did you mean @" + near + "?";
  return {Code::Name, message, loc};
}

// The file of a node is that of the item whose places it falls between; pools are filled item by item.
Loc with_file(const Module& m, Place p) { return {m.file, p.line, p.col}; }

}  // namespace

Loc Module::loc_of(const Item& item) const {
  switch (item.kind) {
    case ItemKind::Import:
      return imports[item.at].loc;
    case ItemKind::Func:
      return funcs[item.at].loc;
    case ItemKind::Derived:
      return derived[item.at].loc;
    case ItemKind::Global:
      return globals[item.at].loc;
    case ItemKind::Extern:
      return externs[item.at].loc;
    case ItemKind::Test:
      return tests[item.at].loc;
  }
  return {};
}

Status add_item(Module& m, Item item, const StringTable& strings) {
  if (const StrId name = name_of(m, item); name != kNone<StrId>) {
    auto& table = item.kind == ItemKind::Extern ? m.op_names : m.names;
    const auto [it, fresh] = table.emplace(name, item);
    if (!fresh) return taken(m, item, m, it->second, strings);
  }
  m.items.push_back(item);
  return ok();
}

Status check_names(const Module& m, const StringTable& strings, const Module* also) {
  for (const CalleeExpr& c : m.callees)
    if (!c.is_transform() && !m.find(c.name) && !(also && also->find(c.name)))
      return unknown(m, also, c.name, with_file(m, c.place), strings);
  return ok();
}

Status extend(Module& into, const Module& from, const StringTable& strings) {
  for (const Item& item : from.items) {
    const StrId name = name_of(from, item);
    const auto& table = item.kind == ItemKind::Extern ? into.op_names : into.names;
    if (const auto it = table.find(name); name != kNone<StrId> && it != table.end())
      return taken(from, item, into, it->second, strings);
  }
  if (Status s = check_names(from, strings, &into); !s) return s;
  return merge(into, from, strings);
}

}  // namespace tfvm
