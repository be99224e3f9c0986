#pragma once
// One thread's state: the memory that calls of plans work in, their limits, and where they print.

#include <optional>
#include <span>
#include <vector>

#include "vm/executor.h"
#include "vm/storage_pool.h"

namespace tfvm {

class Context {
 public:
  explicit Context(BudgetRef budget = std::make_shared<Budget>()) : budget_(std::move(budget)) {}
  Context(const Context&) = delete;

  RunLimits limits;
  PrintSink sink;
  Jobs jobs;
  const BudgetRef& budget() const { return budget_; }
  StoragePool* pool = nullptr;  // of the run at hand, where results and copies come from; null: from the budget
  Result<Tensor> make(DType dtype, Dims dims) const;
  Result<Tensor> clone(const Tensor& t) const { return pool ? pool->clone(t) : t.clone(budget_); }
  // The caller's memory to work in, in place of the budget's; it outlives the Context. False where it is in use.
  bool use_arena(void* memory, std::int64_t bytes);

  // Runs a plan on inputs of its parameters' dtypes and dims (Code::Type else), with any strides; results are fresh.
  // Index, Assert, Limit, Cancelled from the program, Memory where a result or the frame can't be allocated. An error
  // has no line; failed_at() says where it came from.
  // `kept`, where not empty: 1 for results that need not be fresh. Where such a one is an input that stands in a VM's
  // memory, it is that tensor, saved.
  Result<std::vector<Tensor>> call(const Plan& plan, std::span<const Tensor> inputs,
                                   std::span<const std::uint8_t> kept = {});
  // Into the caller's tensors, which have the results' dtypes and dims, any strides that don't overlap, and may overlap
  // inputs (results are then written when the call has succeeded). Nothing is allocated but for such results and for
  // inputs that are not row-major.
  Status call(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs);

  // The same for who can wait: Paused as `run_open`, then `go_on`; Failed: error(). What is given stays where it is
  // until the call has ended.
  RunEnd begin(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  RunEnd go_on(const Plan& plan);
  // What a call with fresh results is given: tensors of its own, but for `kept` ones as above.
  Status make_outputs(const Plan& plan, std::span<const Tensor> inputs, std::span<const std::uint8_t> kept,
                      std::vector<Tensor>& outputs) const;
  // Behind a call into fresh tensors: those that are tapes become their owners.
  void own_tapes(const Plan& plan, std::vector<Tensor>& outputs);

  // The bare call: one pointer per parameter and result, row-major, aligned for the dtype, results apart from all else.
  Status run(const Plan& plan, std::span<std::byte* const> inputs, std::span<std::byte* const> outputs);

  // The same in two steps, for who calls often. `open` gives the table that the pointers are written to, parameters
  // first, then results; null where there is no memory (error()). `run_open` then runs the plan; Failed: error().
  std::byte** open(const Plan& plan);
  RunEnd run_open(const Plan& plan);
  // With limits.pause, `run_open` may end in Paused; then `resume` goes on, and nothing else may run here until it has
  // ended or was abandoned. Pointers stay in use meanwhile.
  RunEnd resume(const Plan& plan);
  void abandon();
  bool paused() const { return paused_; }
  Error error() const;

  StepOrigin failed_at() const { return failed_at_; }
  std::int64_t steps_left() const { return executor_.steps_left(); }  // of limits.steps, behind the last run
  std::int64_t slab_bytes() const { return slab_ ? slab_->bytes() : 0; }

 private:
  RunEnd ended(const Plan& plan, RunEnd end);
  RunEnd copied(RunEnd end);
  RunEnd refuse(Error e);
  BudgetRef budget_;
  Executor executor_{limits, sink, jobs, budget_};
  StorageRef slab_;
  bool is_arena_ = false, paused_ = false;
  std::int64_t refused_ = 0;  // bytes of a frame that there was no memory for
  StepOrigin failed_at_;
  std::shared_ptr<Tapes> escaped_;  // that results of the last call point to, until they have an owner
  std::vector<std::byte*> in_, out_;
  struct Delayed {
    Tensor to, from;
  };
  std::vector<Tensor> copies_;  // of inputs; empty in the common case, as what is copied behind the call
  std::vector<Delayed> delayed_;
  std::optional<Error> early_;  // why the call did not begin
};

}  // namespace tfvm
