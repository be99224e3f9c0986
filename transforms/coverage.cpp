#include "transforms/coverage.h"

#include "transforms/jvp/rules.h"
#include "transforms/transpose/rules.h"
#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

std::string missing(Op op) {
  const std::string_view hole = info(op).hole;
  return "missing: " + (hole.empty() ? std::string("no rule") : std::string(hole));
}

// Every operand that can be a float has its function.
bool has_text(const TransformEnv& env, Op op) {
  const OpInfo& row = info(op);
  if (!env.derivatives) return false;
  for (const OperandSpec& s : row.operands)
    if (!env.derivatives->has(std::string(row.name) + "." + std::string(s.name))) return false;
  return true;
}

std::string jvp_coverage(const TransformEnv& env, Op op) {
  switch (jvp_entry(op).kind) {
    case JvpKind::Missing:
      return missing(op);
    case JvpKind::Zero:
      return "zero";
    case JvpKind::Text:
      return has_text(env, op) ? "rule" : missing(op);
    default:
      return "rule";
  }
}

// Ops that are linear in some operand and have no rule yet.
bool lacks_transpose(Op op) {
  switch (op) {
    case Op::triangular_solve:
    case Op::psum:
    case Op::all_gather:
    case Op::ppermute:
    case Op::all_to_all:
      return true;
    default:
      return info(op).kind == OpKind::View || info(op).kind == OpKind::Write;
  }
}

std::string transpose_coverage(Op op) {
  if (transpose_rule(op)) return "rule";
  return lacks_transpose(op) ? missing(op) : "-";
}

std::string vmap_coverage(Op op) {
  if (batch_rule(op)) return "rule";
  if (!info(op).hole.empty()) return missing(op);
  return info(op).operands.empty() ? "-" : "lanes";
}

}  // namespace

std::vector<CoverageRow> coverage(const TransformEnv& env) {
  std::vector<CoverageRow> rows;
  for (std::size_t k = 0; k < kOps; ++k) {
    const auto op = static_cast<Op>(k);
    rows.push_back({op, jvp_coverage(env, op), transpose_coverage(op), vmap_coverage(op)});
  }
  return rows;
}

}  // namespace tfvm
