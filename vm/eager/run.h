#pragma once
// Runs full functions as written: views alias, writes go into storage, calls see their arguments' storage.

#include <span>
#include <vector>

#include "vm/context.h"
#include "vm/eager/code.h"
#include "vm/tape.h"

namespace tfvm {

std::int64_t integer_of(const Tensor& t);  // of a scalar

class EagerRun {
 public:
  // `globals`: the tensors of params and buffers by declaration; they are read and written in place.
  EagerRun(Context& context, std::span<const Tensor> globals);
  ~EagerRun();
  EagerRun(const EagerRun&) = delete;

  // Results alias inputs and each other where the program says so. Errors as Context::call's, and Code::Type for a view
  // that the strides don't allow or a write into elements that overlap; without a line, failed_at() says where.
  Result<std::vector<Tensor>> call(const EagerCode& code, std::vector<Tensor> args);
  StepOrigin failed_at() const { return failed_at_; }

 private:
  struct Frame {
    std::vector<Tensor> slots;
    std::vector<Tensor> take(const Slots& from, std::size_t begin, std::size_t count) const;
  };
  Status step(const EagerStep& s, Frame& f);
  Status plan(const EagerStep& s, Frame& f);
  Status write(const EagerStep& s, Frame& f);
  Status copy(const EagerStep& s, Frame& f);
  Status update(const EagerStep& s, Frame& f);
  Status branch(const EagerStep& s, Frame& f);
  Status loop(const EagerStep& s, Frame& f);
  Status scan(const EagerStep& s, Frame& f);
  Status tape_scan(const EagerStep& s, Frame& f);
  Result<Tensor> new_tape(std::int64_t record_bytes);
  Status write_record(const Tensor& tape, std::optional<std::int64_t> trip, const Tensor& record);
  Status own_tapes(const EagerCode& code, std::vector<Tensor>& out);
  Status custom(const EagerStep& s, Frame& f);
  Status after_plan(const EagerStep& s, Status done);
  std::vector<Tensor> plan_inputs(const EagerStep& s, const Frame& f) const;
  Result<std::vector<Tensor>> values(const EagerCode& code, std::vector<Tensor> args);
  Status make_fresh(std::vector<Tensor>& tensors);
  Status poll();

  Context& context_;
  const RunLimits limits_;  // of the caller
  const std::span<const Tensor> globals_;
  std::int64_t steps_left_;
  StepOrigin failed_at_;
  bool failed_ = false;
  // What tapes stand in that this run made or was given by plans. A call that gives no tape lets go of those made in
  // it.
  struct Kept {
    std::vector<Tensor> owners;
    Tapes tapes;
  };
  std::shared_ptr<Kept> kept_;
  std::uint32_t depth_ = 0;
};

}  // namespace tfvm
