#include "vm/cache/function_lines.h"

#include <unordered_set>

#include "vm/plan/walk.h"

namespace tfvm {

namespace {

class Writer {
 public:
  Writer(FunctionLines& out, const DebugTable& debugs, const StringTable& strings)
      : out_(out), debugs_(debugs), strings_(strings) {}

  void plan(const Plan& p) {
    const auto lines_of = [this](const Plan& q) {
      for (const StepOrigin& at : q.origins) line(at);
    };
    for_each_plan(p, lines_of, plans_);
  }

  void code(const EagerCode& c) {
    if (!codes_.insert(&c).second) return;
    for (const EagerStep& s : c.steps) {
      line(s.origin);
      if (s.plan) plan(*s.plan);
      for (const EagerRef& target : s.targets) code(*target);
    }
  }

 private:
  void line(const StepOrigin& at) {
    if (!debugs_.has(at.debug)) return;
    const auto [it, is_new] = out_.lines.try_emplace({at.debug, at.instr});
    if (is_new) it->second = {debugs_.find_loc(at.debug, at.instr), debugs_.function_name(at.debug, strings_)};
  }

  FunctionLines& out_;
  const DebugTable& debugs_;
  const StringTable& strings_;
  std::unordered_set<const Plan*> plans_;
  std::unordered_set<const EagerCode*> codes_;
};

}  // namespace

void write_lines(FunctionLines& f, const DebugTable& debugs, const StringTable& strings) {
  Writer w(f, debugs, strings);
  if (f.plan) w.plan(*f.plan);
  if (f.eager) w.code(*f.eager);
}

}  // namespace tfvm
