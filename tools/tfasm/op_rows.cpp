#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "bytecode/expand/core.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"
#include "stdlib/embedded.h"
#include "tools/tfasm/ops.h"

namespace tfvm::tool {

// The stdlib's files with their comments, which the library does without.
namespace op_texts {
std::span<const EmbeddedFile> files();
}

namespace {

std::string_view type_name(AttrType t) {
  switch (t) {
    case AttrType::Int:
      return "int";
    case AttrType::Float:
      return "float";
    case AttrType::Bool:
      return "bool";
    case AttrType::Str:
      return "str";
    case AttrType::DType:
      return "dtype";
    case AttrType::Ints:
      return "ints";
    case AttrType::Any:
      return "any";
    case AttrType::Func:
      return "func";
  }
  return "";
}

std::string_view type_name(ParamKind k) {
  constexpr std::string_view kNames[] = {"int", "float", "bool", "str", "dtype", "ints"};
  return kNames[static_cast<std::size_t>(k)];
}

std::string_view effect_name(OpEffect e) {
  constexpr std::string_view kNames[] = {"", "assert", "io", "alias", "write"};
  return kNames[static_cast<std::size_t>(e)];
}

// "x: A", "i: I", "bias?: A", "xs…: A": groups of one letter share a dtype.
std::string operand_text(const OperandSpec& s) {
  const std::string_view many = s.arity == '?' ? "?" : s.arity == '*' ? "…" : "";
  const std::string_view cls = s.cls == DTypeClass::Any ? "" : name(s.cls);
  const std::string group = s.group == '@'   ? "function"
                            : s.group == 'I' ? "index"
                            : s.group == 'P' ? "predicate"
                                             : std::string(1, s.group);
  return fmt::format("{}{}: {}{}{}", s.name, many, group, cls.empty() ? "" : " ", cls);
}

void add_specs(OpRow& row, std::span<const OperandSpec> operands, std::span<const AttrSpec> attrs,
               const StringTable& strings) {
  for (const OperandSpec& s : operands) row.operands.push_back(operand_text(s));
  for (const AttrSpec& a : attrs)
    row.attrs.push_back(
        {std::string(strings[a.key]), std::string(type_name(a.type)), a.required ? "" : std::string(a.default_text)});
}

// The comment lines that end right above `line`.
std::string doc_above(std::span<const Comment> comments, std::string_view source, std::uint32_t line) {
  std::string doc;
  for (auto it = comments.rbegin(); it != comments.rend(); ++it) {
    if (it->line >= line) continue;
    if (it->line + 1 != line || !it->own_line) break;
    std::string_view text = source.substr(it->begin, it->end - it->begin);
    text.remove_prefix(std::min(text.find_first_not_of("/ "), text.size()));
    doc = std::string(text) + (doc.empty() ? "" : "\n") + doc;
    line = it->line;
  }
  return doc;
}

// The default of an attribute parameter: a number, a name, a string, or a list of them.
std::string default_text(const Module& m, const Node& n, const StringTable& strings) {
  switch (n.kind) {
    case NodeKind::None:
      return "none";
    case NodeKind::Bool:
      return n.i ? "true" : "false";
    case NodeKind::Int:
      return std::to_string(n.i);
    case NodeKind::Float:
      return n.str == kNone<StrId> ? fmt::format("{}", std::bit_cast<double>(n.i)) : std::string(strings[n.str]);
    case NodeKind::Str:
      return fmt::format("\"{}\"", strings[n.str]);
    case NodeKind::Name:
      return std::string(strings[n.str]);
    case NodeKind::List: {
      std::string out;
      for (const Node& item : Module::at(m.nodes, n.items))
        out += (out.empty() ? "" : ", ") + default_text(m, item, strings);
      return "[" + out + "]";
    }
    default:
      return "(…)";
  }
}

void add_functions(std::vector<OpRow>& rows, const EmbeddedFile& file) {
  StringTable strings;
  SourceNotes notes;
  const Result<Module> m = parse_module(strings, file.bytes, file.name, notes);
  if (!m) return;
  for (const Template& f : m->funcs) {
    OpRow row;
    row.name = strings[f.name];
    row.kind = "core";
    row.family = file.name.substr(0, file.name.rfind('.'));
    for (const Param& p : f.params)
      row.operands.push_back(std::string(strings[p.name]) + (p.typed ? ": " + print_type(*m, p.type, strings) : ""));
    for (const AttrParam& a : f.attr_params)
      row.attrs.push_back({std::string(strings[a.key]), std::string(type_name(a.kind)),
                           a.default_node == kNoIndex ? "" : default_text(*m, m->nodes[a.default_node], strings)});
    row.doc = doc_above(notes.comments, file.bytes, f.loc.line);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<OpRow> all_ops() {
  std::vector<OpRow> rows;
  const StringTable strings;
  for (std::size_t k = 0; k < kOps; ++k) {
    const OpInfo& op = info(static_cast<Op>(k));
    OpRow row{std::string(op.name), std::string(op.family), "prim", {}, {}, {}, {}, {}};
    row.effect = effect_name(op.effect);
    row.hole = op.hole;
    add_specs(row, op.operands, op.attrs, strings);
    rows.push_back(std::move(row));
  }
  for (const CoreRow& core : core_rows()) {
    OpRow row{std::string(core.name), "expansions", "core", {}, {}, {}, {}, {}};
    add_specs(row, core.operands, core.attrs, strings);
    rows.push_back(std::move(row));
  }
  for (const EmbeddedFile& file : op_texts::files())
    if (!stdlib::is_rules(file)) add_functions(rows, file);
  return rows;
}

}  // namespace tfvm::tool
