#pragma once
// Runs the steps of a plan in a frame. No allocation but of tapes, no hashing, no lock; recursion only by the nesting
// of control flow.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "bytecode/status.h"
#include "vm/plan/plan.h"
#include "vm/tape.h"
#include "vm/tensor.h"

namespace tfvm {

// Of one call. A step is a trip of a loop or a call of a plan.
struct RunLimits {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool>* cancel = nullptr;
};

// Where `print` goes; nothing is printed without one. The tensor is valid during the call only.
struct PrintSink {
  void (*print)(void* user, std::string_view label, const Tensor& value) = nullptr;
  void* user = nullptr;
};

class Executor {
 public:
  Executor(const RunLimits& limits, const PrintSink& sink, BudgetRef budget)
      : limits_(limits), sink_(sink), steps_left_(limits.steps), tapes_(std::move(budget)) {}

  // `frame`: plan.frame_bytes, aligned to 64; its table of roots holds the pointers of parameters and results. False:
  // the call failed, results are unspecified, and error() and origin() say why and where.
  bool run(const Plan& plan, std::byte* frame);

  Error error() const;  // without a line
  StepOrigin origin() const { return plan_->origins[step_]; }
  std::int64_t steps_left() const { return steps_left_; }
  // What the results of the plan still point to.
  Tapes take_tapes() { return std::move(tapes_); }

 private:
  bool step(const Plan& plan, std::uint32_t i, std::byte** roots);
  bool nest(const Plan& plan, const NestStep& s, std::byte** roots);
  bool kernel(const Plan& plan, const KernelStep& s, std::byte** roots);
  bool call(const Plan& plan, const CallStep& s, std::byte** roots);
  bool loop(const Plan& plan, const WhileStep& s, std::byte** roots);
  bool loop(const ScanStep& s, const Plan& plan, std::byte** roots);
  bool loop(const TapeScanStep& s, const Plan& plan, std::byte** roots);
  bool out_of_memory();
  bool reduce(const ReduceStep& s, std::byte** roots);
  bool poll();

  const RunLimits& limits_;
  const PrintSink& sink_;
  std::int64_t steps_left_;
  Tapes tapes_;
  // Of the failure: set by the innermost step.
  Code code_ = Code::Ok;
  const Plan* plan_ = nullptr;
  std::uint32_t step_ = 0;
  IndexFailure index_;
};

}  // namespace tfvm
