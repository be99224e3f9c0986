#pragma once
// Runs full functions as written: views alias, writes go into storage, calls see their arguments' storage.
//
// Blocks that run stand on a stack of the run's own, not on that of C++: so a call may pause between any two steps, at
// the back edge of every loop, and within a plan, and go on later with the same bits. A run may be used for one call
// after another; what the first ones allocate (frames, lists, storages) the later ones use again, so that they allocate
// nothing but tapes.

#include <optional>
#include <span>
#include <vector>

#include "vm/context.h"
#include "vm/eager/code.h"
#include "vm/eager/watch.h"
#include "vm/tape.h"

namespace tfvm {

class EagerRun {
 public:
  // `globals`: the tensors of params and buffers by declaration; they are read and written in place.
  // `sites` names writes in errors; it may be null.
  EagerRun(Context& context, std::span<const Tensor> globals, const WriteSites* sites = nullptr);
  ~EagerRun() { reset(); }
  EagerRun(const EagerRun&) = delete;
  void use_globals(std::span<const Tensor> globals) { globals_ = globals; }  // of the next call

  // Results alias inputs and each other where the program says so. Errors as Context::call's, and Code::Type for a view
  // that the strides don't allow or a write into elements that overlap; without a line, failed_at() says where.
  Result<std::vector<Tensor>> call(const EagerCode& code, std::vector<Tensor> args);
  StepOrigin failed_at() const { return failed_at_; }
  void set_watch(EagerWatch* watch) { watch_ = watch; }  // null: none
  std::vector<LoopTrip> trips() const;                   // of all loops around the present step, outermost first

  // The same in slices, by limits.pause of the context. Paused: `resume` goes on, and the context is for nothing else
  // until this run has ended or is gone. Done: take_results(). Failed: error().
  RunEnd start(const EagerCode& code, std::vector<Tensor> args);
  RunEnd resume() { return go_on(); }
  std::vector<Tensor> take_results() { return std::move(results_); }
  Error error() const { return *error_; }

  // The same on lists that stay: `args` is filled, then `start` moves out of it; the results may be changed.
  std::vector<Tensor>& args() { return args_; }
  RunEnd start(const EagerCode& code);
  std::vector<Tensor>& results() { return results_; }
  Result<Tensor> clone(const Tensor& t) { return pool_.clone(t); }
  // Lets go of all values, and of a paused call; keeps the memory for the next one.
  void reset();

 private:
  // A block on its way: its code up to step `at`, which is waiting where a block above runs for it.
  struct Frame {
    const EagerCode* code;
    std::size_t at = 0;
    std::vector<Tensor> slots;
    // Of the loop at `at`: trips made, what it carries and stacks, and whether `body` is on its way, or `cond`.
    std::int64_t trip = 0;
    bool in_body = false;
    std::int64_t length = 0;
    std::vector<Tensor> carries, scanned, stacked, tapes;
    std::size_t owners_mark = 0, tapes_mark = 0;  // what of kept_ was there before this block
    // Appends slots from[begin], … to a list; moves a list into slots.
    void take(const Slots& from, std::size_t begin, std::size_t count, std::vector<Tensor>& list) const;
    void give(const Slots& to, std::vector<Tensor>& values);
    void clear();
  };
  enum class Next : std::uint8_t { Step, Block, Paused };  // done; a block was entered; left in a pause

  RunEnd go_on();
  RunEnd failed(Error e);
  RunEnd ended(RunEnd end);
  Result<Next> advance();
  void enter(const EagerCode& code);  // with args_, which it empties
  Status leave();                     // the innermost block has ended: its results go to the step that waits
  Status poll();                      // at each trip and call
  Status look();

  // A step up to its end, or to where it enters a block. (steps.cpp)
  Result<Next> step(const EagerStep& s, Frame& f);
  Result<Next> plan(const EagerStep& s, Frame& f);
  Result<Next> plan_ended(const EagerStep& s, Frame& f, RunEnd end);
  Status constant(const EagerStep& s, Frame& f);
  Status view(const EagerStep& s, Frame& f);
  Status copy(const EagerStep& s, Frame& f);
  Status update(const EagerStep& s, Frame& f);
  Status custom(const EagerStep& s, Frame& f);
  Status make_fresh(std::vector<Tensor>& tensors);
  // Blocks of a step. (blocks.cpp)
  Result<Next> enter_block(const EagerStep& s, Frame& f);
  Status block_ended(const EagerStep& s, Frame& f, std::vector<Tensor>& out);
  Status start_loop(const EagerStep& s, Frame& f);
  Status enter_cond(const EagerStep& s, Frame& f);
  Status enter_body(const EagerStep& s, Frame& f);
  Status enter_trip(const EagerStep& s, Frame& f);  // of a scan, or its end
  // Tapes. (tapes.cpp)
  std::int64_t tape_trips(const Tensor& trips, std::span<const Tensor> tapes);
  Status make_tapes(const EagerStep& s, Frame& f);
  Result<Tensor> new_tape(std::int64_t record_bytes);
  Result<Tensor> read_record(const Tensor& tape, std::int64_t trip, const ValueType& type);
  Status write_record(const Tensor& tape, std::optional<std::int64_t> trip, const Tensor& record);
  Status own_tapes(const EagerCode& code, std::vector<Tensor>& out);

  Context& context_;
  StoragePool pool_;
  RunLimits limits_;  // of the caller; the pause is read where it stands
  std::span<const Tensor> globals_;
  const WriteSites* const sites_;
  std::int64_t steps_left_ = 0;
  std::vector<Frame> frames_;  // the first depth_ are in use, outermost first; a call has room for all that it enters
  std::size_t depth_ = 0;
  std::vector<Tensor> args_;      // of the block that is entered next
  std::vector<Tensor> given_;     // by the block that has ended
  std::vector<Tensor> in_, out_;  // of the plan at hand, until it has ended
  std::vector<CustomArg> custom_args_;
  std::vector<CustomBack> custom_back_;
  bool running_ = false, plan_paused_ = false, pause_due_ = false;
  std::vector<Tensor> results_;
  std::optional<Error> error_;
  StepOrigin failed_at_;
  bool failed_ = false;
  EagerWatch* watch_ = nullptr;
  // What tapes stand in that this run made or was given by plans. A block that gives no tape lets go of those made in
  // it.
  struct Kept {
    std::vector<Tensor> owners;
    Tapes tapes;
  };
  std::shared_ptr<Kept> kept_;
};

// An integer of one element; those of u64 beyond i64 are the largest.
std::int64_t integer_of(const Tensor& t);

}  // namespace tfvm
