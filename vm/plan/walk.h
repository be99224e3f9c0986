#pragma once
// The plans that a plan runs.

#include <unordered_set>

#include "vm/plan/plan.h"

namespace tfvm {

// Calls fn(const Plan&) once on each plan that `p` calls or runs as a body, and on theirs, callees first, then on `p`.
template <class Fn>
void for_each_plan(const Plan& p, Fn&& fn, std::unordered_set<const Plan*>& seen) {
  if (!seen.insert(&p).second) return;
  const auto visit = [&](const PlanRef& q) {
    if (q) for_each_plan(*q, fn, seen);
  };
  for (const CallStep& s : p.calls)
    for (const PlanRef& q : s.targets) visit(q);
  for (const WhileStep& s : p.whiles) visit(s.cond), visit(s.body);
  for (const ScanStep& s : p.scans) visit(s.body);
  for (const TapeScanStep& s : p.tape_scans) visit(s.body);
  for (const ReduceStep& s : p.reduces) visit(s.body);
  fn(p);
}

template <class Fn>
void for_each_plan(const Plan& p, Fn fn) {
  std::unordered_set<const Plan*> seen;
  for_each_plan(p, fn, seen);
}

}  // namespace tfvm
