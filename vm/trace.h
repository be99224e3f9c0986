#pragma once
// What a run did and how long it took: each step of its plans, in order, and totals by step. As the JSON of Chrome's
// trace events (chrome://tracing, ui.perfetto.dev), with names and lines of the program.
//
//   RunTrace trace;  context.limits.trace = &trace;  vm.call(context, …);  write(vm.tables(), trace)

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/tables.h"
#include "vm/plan/plan.h"

namespace tfvm {

// Plans must outlive it. Of one thread. A whole loop of machine code is one step.
class RunTrace {
 public:
  explicit RunTrace(std::size_t max_events = 1u << 20) : max_events_(max_events) {}

  struct Event {
    const Plan* plan;
    std::uint32_t step;
    std::int64_t begin_ns, ns;
  };
  struct Total {
    std::int64_t count = 0, ns = 0;
  };
  using Clock = std::chrono::steady_clock;

  // For the executor: a step begins; what `begin` gave tells which one ends.
  std::size_t begin(const Plan& plan, std::uint32_t step);
  void end(std::size_t open);

  const std::vector<Event>& events() const { return events_; }
  std::size_t dropped() const { return dropped_; }  // behind the first max_events
  // Of all steps, those that were dropped included.
  const std::unordered_map<const PlanStep*, Total>& totals() const { return totals_; }

 private:
  struct Open {
    const Plan* plan;
    std::uint32_t step;
    std::size_t event;  // max_events: dropped
    Clock::time_point at;
  };
  const std::size_t max_events_;
  const Clock::time_point start_ = Clock::now();
  std::vector<Event> events_;
  std::vector<Open> open_;
  std::unordered_map<const PlanStep*, Total> totals_;
  std::size_t dropped_ = 0;
};

// "nest", "sort", "scan"; where it runs as machine code is told by `is_native`.
std::string step_name(const Plan& plan, std::uint32_t step);
bool is_native(const Plan& plan, std::uint32_t step);

// {"traceEvents": […]}: one complete event ("ph": "X") per step, microseconds, with args function, line, tier.
std::string chrome_json(const Tables& t, const RunTrace& trace);
// [{"function", "step", "line", "tier", "count", "us"}, …], the most time first.
std::string totals_json(const Tables& t, const RunTrace& trace);

}  // namespace tfvm
