#pragma once
// Runs the steps of a plan in a frame. No allocation but of tapes and, once, of room for jobs; no hashing, no lock;
// recursion only by the nesting of control flow.
//
// A run may pause between steps and at the back edges of loops, and go on later with the same bits: all values are in
// the frame, so on its way out each level pushes only where it stood (step, trip), and on its way in pops it again.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/status.h"
#include "vm/jobs.h"
#include "vm/plan/plan.h"
#include "vm/tape.h"
#include "vm/tensor.h"

namespace tfvm {

class RunTrace;

// Of one call. A step is a trip of a loop or a call of a plan. Long steps look at the clock and the flag, too.
struct RunLimits {
  using Time = std::chrono::steady_clock::time_point;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::optional<Time> deadline;
  std::optional<Time> pause;  // when to stop and keep what is needed to go on
  const std::atomic<bool>* cancel = nullptr;
  RunTrace* trace = nullptr;  // told of each step (vm/trace.h); null: nobody
};

// Where `print` goes; nothing is printed without one. The tensor is valid during the call only.
struct PrintSink {
  void (*print)(void* user, std::string_view label, const Tensor& value) = nullptr;
  void* user = nullptr;
};

class NativeNest;

enum class RunEnd : std::uint8_t { Done, Failed, Paused };

class Executor {
 public:
  Executor(const RunLimits& limits, const PrintSink& sink, const Jobs& jobs, const BudgetRef& budget)
      : limits_(limits), sink_(sink), jobs_(jobs), budget_(budget), tapes_(budget) {}
  Executor(const Executor&) = delete;

  // `frame`: plan.frame_bytes, aligned to 64; its table of roots holds the pointers of parameters and results. Failed:
  // results are unspecified, and error() and origin() say why and where.
  RunEnd start(const Plan& plan, std::byte* frame);
  // After a pause, with the same plan and frame.
  RunEnd resume(const Plan& plan, std::byte* frame);
  void abandon();  // a paused run
  // The machine code of a plan that is one nest, too small to be watched or cut: to be run on the table of parameters
  // and results. Null: it is not, or has none yet.
  static const NativeNest* small_code(const Plan& plan);

  Error error() const;  // without a line
  StepOrigin origin() const { return plan_->origins[step_]; }
  std::int64_t steps_left() const { return steps_left_; }
  // What the results of the plan still point to.
  Tapes take_tapes() { return std::exchange(tapes_, Tapes(budget_)); }

 private:
  RunEnd go_on(const Plan& plan, std::byte* frame);
  RunEnd start_steps(const Plan& plan, std::byte* frame);
  bool run_nests(const Plan& plan, std::byte* frame);
  bool run(const Plan& plan, std::byte* frame);
  bool step(const Plan& plan, std::uint32_t i, std::byte** roots);
  bool traced_step(const Plan& plan, std::uint32_t i, std::byte** roots);
  bool nest(const Plan& plan, const NestStep& s, std::byte** roots);
  bool native(const NativeNest& code, std::byte* const* bases, std::int64_t part);
  struct Parts;
  bool in_jobs(Parts job, std::size_t parts);
  bool nest_in_parts(const NestStep& s, std::byte* const* bases, std::size_t parts);
  bool kernel(const Plan& plan, std::uint32_t i, const KernelStep& s, std::byte** roots);
  bool call(const Plan& plan, const CallStep& s, std::byte** roots);
  bool loop(const Plan& plan, const WhileStep& s, std::byte** roots);
  // Outside: an index was, and the loop goes back to what was kept.
  enum class NativeEnd : std::uint8_t { Done, Left, Outside };
  NativeEnd native_loop(const NativeNest& code, const ScanStep& s, const Plan& plan, std::byte** roots,
                        std::int64_t trip);
  NativeEnd native_loop(const NativeNest& code, const WhileStep& s, const Plan& plan, std::byte** roots, bool is_first);
  NativeEnd native_loop(const NativeNest& code, const TapeScanStep& s, const Plan& plan, std::byte** roots,
                        std::int64_t trip, std::int64_t trips);
  bool loop(const ScanStep& s, const Plan& plan, std::byte** roots);
  bool loop(const TapeScanStep& s, const Plan& plan, std::byte** roots);
  bool reduce(const ReduceStep& s, std::byte** roots);

  bool fail(Code code) {
    code_ = code;
    return false;
  }
  bool is_cancelled() const { return limits_.cancel && limits_.cancel->load(std::memory_order_relaxed); }
  bool poll();  // at each trip and call
  bool look(bool may_pause);

  // Where a level stands, outermost last. Non-empty at the start of a level: it is to be taken up again.
  bool rewinding() const { return !saved_.empty(); }
  std::int64_t restore() {
    const std::int64_t v = saved_.back();
    saved_.pop_back();
    return v;
  }
  bool leave(std::initializer_list<std::int64_t> state) {  // restored in the opposite order
    if (paused_) saved_.insert(saved_.end(), state);
    return false;
  }

  const RunLimits& limits_;
  const PrintSink& sink_;
  const Jobs& jobs_;
  const BudgetRef& budget_;
  struct Watch : NestWatch {
    Executor* self = nullptr;
  } watch_;
  std::int64_t steps_left_ = 0;
  bool watched_ = false, paused_ = false, pause_due_ = false;
  bool did_next_ = false;  // the step behind the one that was made is done, too
  std::vector<std::int64_t> saved_;
  Tapes tapes_;
  StorageRef parts_scratch_;
  // Of the failure: set by the innermost step.
  Code code_ = Code::Ok;
  const Plan* plan_ = nullptr;
  std::uint32_t step_ = 0;
  IndexFailure index_;
};

}  // namespace tfvm
