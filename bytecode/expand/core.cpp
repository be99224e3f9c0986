#include "bytecode/expand/core.h"

#include <unordered_map>

namespace tfvm {

using ExpandFn = std::vector<ValueId> (*)(ExpandCtx&);

#define CORE(name, operands, attrs) std::vector<ValueId> expand_##name(ExpandCtx&);
#include "bytecode/expand/core.def"
#undef CORE

namespace {
struct Row {
  std::string_view name, operands, attrs;
  ExpandFn expand;
};

constexpr Row kRows[] = {
#define CORE(name, operands, attrs) {#name, operands, attrs, expand_##name},
#include "bytecode/expand/core.def"
#undef CORE
};
}  // namespace

std::span<const CoreRow> core_rows() {
  static const std::vector<CoreRow> kTable = [] {
    std::vector<CoreRow> t;
    t.reserve(std::size(kRows));
    for (const Row& r : kRows)
      t.push_back({r.name, parse_operand_specs(r.operands), parse_attr_specs(r.attrs), r.expand});
    return t;
  }();
  return kTable;
}

const CoreRow* find_core(std::string_view name) {
  static const std::unordered_map<std::string_view, const CoreRow*> kNames = [] {
    std::unordered_map<std::string_view, const CoreRow*> m;
    for (const CoreRow& r : core_rows()) m.emplace(r.name, &r);
    return m;
  }();
  const auto it = kNames.find(name);
  return it == kNames.end() ? nullptr : it->second;
}

}  // namespace tfvm
