#pragma once
// The NaN trap: names the first nan of a call, by op, line, element, lane and loop trip.
//
// A call first runs as always, but for flags that the pass nan_flags adds where a nan could vanish within the function,
// and its results are looked at. Only when there is a nan the call is made again, one instruction at a time, which
// stops at the first that gives one. Functions that write run that way from the start.
//
// For `Live` the second run marks each nan, in its payload, by the step that made it; those that the results hold tell
// which step it was. So the bits of nan are not those of a run without the trap. A nan of f16 holds 9 bits of the mark,
// one of bf16 6: behind 511 or 63 steps that made nan, marks of such values may name an earlier step.

#include <optional>
#include <string>
#include <vector>

#include "bytecode/tables.h"
#include "vm/eager/run.h"

namespace tfvm {

// Is there one among `elements` in a row?
bool has_nan(DType d, const std::byte* x, std::int64_t elements);
// The first element that is nan, in row-major order; of complex tensors, in either part.
std::optional<std::int64_t> first_nan(const Tensor& t);

// Failures of programs that a nan may lie behind.
constexpr bool may_come_of_nan(Code c) { return c == Code::Index || c == Code::Assert || c == Code::Limit; }

// Where a nan came from: as much as is known while the call runs.
struct NanOrigin {
  FunctionId function;
  StepOrigin at;  // no instruction: an input
  std::string op;
  std::uint32_t out = 0;  // which of its tensors, or which input
  std::vector<std::int64_t> dims;
  std::int64_t element = 0;     // in row-major order
  std::vector<LoopTrip> trips;  // of the loops around, outermost first
};

// Code::Assert at the program's line, with value, index, lanes and trips. Under the lock of the tables.
Error error_of(const Tables& t, const NanOrigin& origin);

// Watches a run step by step. All: ends it at the first nan. Live: marks what it sees; `origin_of` tells of a result.
class NanWatch final : public EagerWatch {
 public:
  explicit NanWatch(bool live) : live_(live) {}
  // Before the run: the arguments of `f`. Live: those that hold nan are replaced by marked copies.
  Status look_at_inputs(std::vector<Tensor>& in, FunctionId f, const BudgetRef& budget);
  Status after(const EagerRun& run, const EagerCode& code, const EagerStep& step, std::span<Tensor> slots) override;
  // The first of the steps whose nan stand in the results.
  const NanOrigin* origin_of(std::span<const Tensor> results) const;
  const std::optional<NanOrigin>& found() const { return found_; }

 private:
  const bool live_;
  std::optional<NanOrigin> found_;
  std::vector<NanOrigin> marks_;  // mark k + 1
};

}  // namespace tfvm
