#include "vm/trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/tiers.h"

namespace tfvm {

std::size_t RunTrace::begin(const Plan& plan, std::uint32_t step) {
  const bool kept = events_.size() < max_events_;
  open_.push_back({&plan, step, kept ? events_.size() : max_events_, Clock::now()});
  if (kept)
    events_.push_back({&plan, step, std::chrono::nanoseconds(open_.back().at - start_).count(), 0});
  else
    ++dropped_;
  return open_.size() - 1;
}

void RunTrace::end(std::size_t open) {
  const Open o = open_[open];
  open_.resize(open);
  const std::int64_t ns = std::chrono::nanoseconds(Clock::now() - o.at).count();
  if (o.event < max_events_) events_[o.event].ns = ns;
  Total& total = totals_[&o.plan->steps[o.step]];
  ++total.count;
  total.ns += ns;
}

std::string step_name(const Plan& plan, std::uint32_t step) {
  const PlanStep s = plan.steps[step];
  switch (s.kind) {
    case StepKind::Nest:
      return "nest";
    case StepKind::Kernel:
      return std::string(name(plan.kernels[s.index].op));
    case StepKind::Call:
      return plan.calls[s.index].targets.size() == 1 ? "call" : "branch";
    case StepKind::While:
      return "while";
    case StepKind::Scan:
      return "scan";
    case StepKind::TapeScan:
      return "tape_scan";
    case StepKind::Reduce:
      return "reduce";
    case StepKind::Assert:
      return "assert";
    case StepKind::Print:
      return "print";
  }
  return "?";
}

bool is_native(const Plan& plan, std::uint32_t step) {
  const PlanStep s = plan.steps[step];
  const std::shared_ptr<NativeSlot> none;
  const auto& slot = s.kind == StepKind::Nest    ? plan.nests[s.index].native
                     : s.kind == StepKind::Scan  ? plan.scans[s.index].native.code
                     : s.kind == StepKind::While ? plan.whiles[s.index].native.code
                                                 : none;
  return slot && slot->ready();
}

namespace {

// Names may hold what JSON has to escape.
std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
}

struct Place {
  std::string function, line;
};

Place place(const Tables& t, const Plan& plan, std::uint32_t step) {
  const StepOrigin at = plan.origins[step];
  const Loc loc = t.debugs.find_loc(at.debug, at.instr);
  return {t.debugs.function_name(plan.function.debug, t.strings),
          loc.line == 0 ? "" : fmt::format("{}:{}", t.strings[loc.file], loc.line)};
}

const char* tier(const Plan& plan, std::uint32_t step) {
  const StepKind kind = plan.steps[step].kind;
  if (kind != StepKind::Nest && kind != StepKind::Scan) return "kernel";
  return is_native(plan, step) ? "native" : "interpreter";
}

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

std::string chrome_json(const Tables& t, const RunTrace& trace) {
  std::string out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  for (std::size_t k = 0; k < trace.events().size(); ++k) {
    const RunTrace::Event& e = trace.events()[k];
    const Place p = place(t, *e.plan, e.step);
    out += fmt::format(
        "{}\n{{\"name\": {}, \"cat\": {}, \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3f}, \"dur\": "
        "{:.3f}, \"args\": {{\"function\": {}, \"line\": {}, \"step\": {}}}}}",
        k == 0 ? "" : ",", quoted(step_name(*e.plan, e.step) + (p.line.empty() ? "" : " " + p.line)),
        quoted(tier(*e.plan, e.step)), us(e.begin_ns), us(e.ns), quoted(p.function), quoted(p.line), e.step);
  }
  return out + fmt::format("\n], \"otherData\": {{\"dropped\": {}}}}}\n", trace.dropped());
}

std::string totals_json(const Tables& t, const RunTrace& trace) {
  struct Row {
    const Plan* plan;
    std::uint32_t step;
    RunTrace::Total total;
  };
  std::vector<Row> rows;
  std::unordered_map<const PlanStep*, bool> seen;
  for (const RunTrace::Event& e : trace.events())
    if (const PlanStep* s = &e.plan->steps[e.step]; seen.emplace(s, true).second)
      rows.push_back({e.plan, e.step, trace.totals().at(s)});
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.total.ns > b.total.ns; });
  std::string out = "[";
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Row& r = rows[k];
    const Place p = place(t, *r.plan, r.step);
    out +=
        fmt::format("{}\n{{\"function\": {}, \"step\": {}, \"line\": {}, \"tier\": {}, \"count\": {}, \"us\": {:.3f}}}",
                    k == 0 ? "" : ",", quoted(p.function), quoted(step_name(*r.plan, r.step)), quoted(p.line),
                    quoted(tier(*r.plan, r.step)), r.total.count, us(r.total.ns));
  }
  return out + "\n]\n";
}

}  // namespace tfvm
