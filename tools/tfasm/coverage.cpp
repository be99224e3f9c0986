// tfasm ops --coverage: which transform has a rule for which op.

#include "transforms/coverage.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/ops.h"

namespace tfvm::tool {

namespace {

bool is_missing(std::string_view cell) { return cell.starts_with("missing"); }
std::string_view short_cell(std::string_view cell) { return is_missing(cell) ? "missing" : cell; }

std::string reasons(const CoverageRow& r) {
  std::vector<std::string> why;
  if (!info(r.op).hole.empty()) why.emplace_back(info(r.op).hole);
  for (const std::string* cell : {&r.jvp, &r.transpose, &r.vmap}) {
    const std::size_t colon = cell->find(": ");
    if (!is_missing(*cell) || colon == cell->npos) continue;
    std::string reason = cell->substr(colon + 2);
    if (std::find(why.begin(), why.end(), reason) == why.end()) why.push_back(std::move(reason));
  }
  return fmt::format("{}", fmt::join(why, "; "));
}

void print_row(const CoverageRow& r) {
  const std::string why = reasons(r);
  fmt::print("{:<24} {:<12} {:<8} {:<10}{}{}\n", name(r.op), info(r.op).family, short_cell(r.jvp),
             short_cell(r.transpose),
             why.empty() ? std::string(short_cell(r.vmap)) : fmt::format("{:<9}", short_cell(r.vmap)), why);
}

}  // namespace

int print_coverage() {
  const Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return report(vm.error(), StringTable());
  const std::vector<CoverageRow> rows = coverage((*vm)->transforms());
  fmt::print("{:<24} {:<12} {:<8} {:<10}{:<9}what is missing and why\n", "op", "family", "jvp", "transpose", "vmap");
  std::size_t holes = 0;
  for (const CoverageRow& r : rows) {
    print_row(r);
    holes += !info(r.op).hole.empty() || is_missing(r.jvp) || is_missing(r.transpose) || is_missing(r.vmap);
  }
  fmt::print("{} ops, {} with something missing\n", rows.size(), holes);
  return kDone;
}

}  // namespace tfvm::tool
