#pragma once
// One thread's state: the memory that calls of plans work in, their limits, and where they print.

#include <span>
#include <vector>

#include "vm/executor.h"

namespace tfvm {

class Context {
 public:
  explicit Context(BudgetRef budget = std::make_shared<Budget>()) : budget_(std::move(budget)) {}
  Context(const Context&) = delete;

  RunLimits limits;
  PrintSink sink;
  const BudgetRef& budget() const { return budget_; }

  // Runs a plan on inputs of its parameters' dtypes and dims (Code::Type else), with any strides; results are fresh.
  // Index, Assert, Limit, Cancelled from the program, Memory where a result or the frame can't be allocated. An error
  // has no line; failed_at() says where it came from.
  Result<std::vector<Tensor>> call(const Plan& plan, std::span<const Tensor> inputs);
  // Into the caller's tensors, which have the results' dtypes and dims, any strides that don't overlap, and may overlap
  // inputs (results are then written when the call has succeeded). Nothing is allocated but for such results and for
  // inputs that are not row-major.
  Status call(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs);

  // The bare call: one pointer per parameter and result, row-major, aligned for the dtype, results apart from all else.
  Status run(const Plan& plan, std::span<std::byte* const> inputs, std::span<std::byte* const> outputs);

  StepOrigin failed_at() const { return failed_at_; }
  std::int64_t steps_left() const { return steps_left_; }  // of limits.steps, behind the last run
  std::int64_t slab_bytes() const { return slab_ ? slab_->bytes() : 0; }

 private:
  Status reserve(std::int64_t bytes);
  BudgetRef budget_;
  StorageRef slab_;
  StepOrigin failed_at_;
  std::int64_t steps_left_ = 0;
  std::shared_ptr<Tapes> escaped_;  // that results of the last call point to, until they have an owner
  std::vector<std::byte*> in_, out_;
};

}  // namespace tfvm
