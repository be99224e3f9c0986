// No hole without a name: an op whose row promises a rule has it, and every hole says why.
#include "transforms/coverage.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/transforms/program.h"

namespace tfvm::test {
namespace {

// The hole column names the transforms that lack a rule ("jvp, transpose: with …"), or "rules" for all of them.
bool excused(const OpInfo& row, std::string_view transform) {
  return row.hole.find(transform) != row.hole.npos || row.hole.find("rules") != row.hole.npos ||
         row.hole.find("functionalize") != row.hole.npos;
}

TEST(Coverage, EveryMissingRuleIsNamedInTheOpTable) {
  TransformProgram p;
  ASSERT_TRUE(p.load(""));
  for (const CoverageRow& r : coverage(p.env)) {
    const OpInfo& row = info(r.op);
    const std::pair<std::string_view, const std::string*> cells[] = {
        {"jvp", &r.jvp}, {"transpose", &r.transpose}, {"vmap", &r.vmap}};
    for (const auto& [transform, cell] : cells) {
      if (!cell->starts_with("missing")) continue;
      EXPECT_TRUE(excused(row, transform)) << row.name << ": " << transform << ": " << *cell;
      EXPECT_NE(*cell, "missing: no rule") << row.name;
    }
  }
}

TEST(Coverage, DerivativeRulesAreForOpsThatExist) {
  TransformProgram p;
  ASSERT_TRUE(p.load(""));
  Library& rules = p.program.library(Space::Derivatives);
  for (const std::string_view name : rules.names()) {
    const Result<Library::Found> f = rules.find(name);
    ASSERT_TRUE(f) << name;
    const std::size_t dot = name.find('.');
    if (dot == name.npos) continue;  // a function that rules call
    const std::optional<Op> op = find_op(name.substr(0, dot));
    ASSERT_TRUE(op) << name;
    const auto& specs = info(*op).operands;
    EXPECT_TRUE(std::ranges::any_of(specs, [&](const OperandSpec& s) { return s.name == name.substr(dot + 1); }))
        << name;
    EXPECT_EQ(f->function->params.size(), specs.size() + 2) << name;
  }
}

}  // namespace
}  // namespace tfvm::test
