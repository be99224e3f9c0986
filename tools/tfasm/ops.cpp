// tfasm ops: the ops of the language, with operands, attributes and defaults.

#include "tools/tfasm/ops.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bytecode/defaults.h"
#include "tools/tfasm/command.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string name;
  bool coverage = false, json = false;
};

std::string attrs_text(const OpRow& row) {
  std::string out;
  for (const OpAttr& a : row.attrs) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", a.key, a.type);
    if (!a.fallback.empty()) out += " = " + a.fallback;
  }
  return out.empty() ? "" : " {" + out + "}";
}

void print_row(const OpRow& row) {
  fmt::print("{} ({}){}{}{}\n", row.name, fmt::join(row.operands, ", "), attrs_text(row),
             row.effect.empty() ? "" : "  ", row.effect);
}

void print_details(const OpRow& row) {
  print_row(row);
  fmt::print("  {} op of {}\n", row.kind, row.family);
  if (!row.hole.empty()) fmt::print("  missing: {}\n", row.hole);
  for (std::size_t begin = 0; begin < row.doc.size();) {
    const std::size_t end = std::min(row.doc.find('\n', begin), row.doc.size());
    fmt::print("  {}\n", row.doc.substr(begin, end - begin));
    begin = end + 1;
  }
}

nlohmann::ordered_json to_json(const OpRow& row) {
  nlohmann::ordered_json out{
      {"name", row.name}, {"kind", row.kind}, {"family", row.family}, {"operands", row.operands}};
  out["attrs"] = nlohmann::ordered_json::array();
  for (const OpAttr& a : row.attrs) {
    out["attrs"].push_back({{"key", a.key}, {"type", a.type}, {"default", nullptr}});
    if (!a.fallback.empty()) out["attrs"].back()["default"] = a.fallback;
  }
  out["effect"] = row.effect;
  out["missing"] = row.hole;
  out["doc"] = row.doc;
  return out;
}

// Names with a dot are steps of other definitions.
bool is_listed(const OpRow& row) { return row.name.find('.') == row.name.npos; }

int list(const std::vector<OpRow>& rows, bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const std::string* family = nullptr;
  for (const OpRow& row : rows) {
    if (!is_listed(row)) continue;
    if (json) {
      all.push_back(to_json(row));
      continue;
    }
    if (!family || *family != row.family) fmt::print("{}// {} ({})\n", family ? "\n" : "", row.family, row.kind);
    family = &row.family;
    print_row(row);
  }
  if (json) fmt::print("{}\n", all.dump(1));
  return kDone;
}

int show(const std::vector<OpRow>& rows, const Options& o) {
  std::vector<std::string_view> names;
  for (const OpRow& row : rows) {
    names.push_back(row.name);
    if (row.name != o.name) continue;
    o.json ? fmt::print("{}\n", to_json(row).dump(1)) : print_details(row);
    return kDone;
  }
  const std::string near = near_miss(o.name, names);
  fmt::print(stderr, "error: there is no op '{}'{}\n", o.name, near.empty() ? "" : "; did you mean '" + near + "'?");
  return kUsage;
}

int ops(const Options& o) {
  if (o.coverage) return print_coverage();
  const std::vector<OpRow> rows = all_ops();
  return o.name.empty() ? list(rows, o.json) : show(rows, o);
}

}  // namespace

void add_ops(Application& app) {
  const Command cmd = app.command("ops", "List the ops: operands, attributes, defaults");
  const auto o = std::make_shared<Options>();
  cmd.option("NAME", o->name, "One op, in full");
  const Option coverage = cmd.flag("--coverage", o->coverage, "Which transform has a rule for which op, and why not");
  cmd.flag("--json", o->json, "Print JSON").excludes(coverage);
  cmd.footer(
      "Operands of one group letter have one dtype; an attribute without a default must be given.\n\n"
      "Examples:\n"
      "  tfasm ops reduce_sum\n"
      "  tfasm ops --coverage\n"
      "  tfasm ops --json > ops.json");
  cmd.action([o] { return ops(*o); });
}

}  // namespace tfvm::tool
