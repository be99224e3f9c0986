// What every step may rely on, and must keep:
//  1. A slot holds its tensor from the step that gives it to the last that reads it. Two slots may hold one tensor.
//  2. Results of plans are storages of their own; only View, Move, Call and writes give a tensor that another slot has.
//  3. A write checks its target, then computes, then writes: a step that fails has written nothing.
//  4. What passes the edge of a block (results of branches and loops, carries, scanned inputs) is a value: row-major in
//     a storage that nothing else sees. Consts and captures are the tensors themselves.
//  5. Between two steps all that a run knows is in frames_: it may be left there and taken up again.
#include "vm/eager/run.h"

#include <fmt/format.h>

#include "bytecode/consts.h"

namespace tfvm {

EagerRun::EagerRun(Context& context, std::span<const Tensor> globals, const WriteSites* sites)
    : context_(context),
      limits_(context.limits),
      globals_(globals),
      sites_(sites),
      steps_left_(context.limits.steps),
      kept_(std::make_shared<Kept>(Kept{{}, Tapes(context.budget())})) {}

EagerRun::~EagerRun() {
  if (plan_paused_) context_.abandon();
  context_.limits = limits_;
}

std::vector<Tensor> EagerRun::Frame::take(const Slots& from, std::size_t begin, std::size_t count) const {
  std::vector<Tensor> out;
  for (std::size_t k = begin; k < begin + count; ++k) out.push_back(slots[from[k]]);
  return out;
}

void EagerRun::Frame::give(const Slots& to, std::vector<Tensor>&& values) {
  for (std::size_t k = 0; k < to.size(); ++k) slots[to[k]] = std::move(values[k]);
}

std::int64_t integer_of(const Tensor& t) {
  const std::int64_t v = load_int(t.dtype(), t.data());
  return t.dtype() == DType::U64 && v < 0 ? std::numeric_limits<std::int64_t>::max() : v;
}

Status EagerRun::poll() {
  if (--steps_left_ < 0) return Error(Code::Limit, fmt::format("the limit of {} steps is reached", limits_.steps));
  return look();
}

Status EagerRun::look() {
  if (limits_.cancel && limits_.cancel->load(std::memory_order_relaxed))
    return Error(Code::Cancelled, "the call was cancelled");
  const auto& pause = context_.limits.pause;
  if (!limits_.deadline && !pause) return ok();
  const RunLimits::Time now = std::chrono::steady_clock::now();
  if (limits_.deadline && now >= *limits_.deadline) return Error(Code::Limit, "the deadline has passed");
  pause_due_ = pause && now >= *pause;
  return ok();
}

Result<std::vector<Tensor>> EagerRun::call(const EagerCode& code, std::vector<Tensor> args) {
  if (start(code, std::move(args)) == RunEnd::Done) return take_results();
  return error();
}

RunEnd EagerRun::start(const EagerCode& code, std::vector<Tensor> args) {
  frames_.reserve(code.depth);
  enter(code, std::move(args));
  return go_on();
}

RunEnd EagerRun::resume() { return go_on(); }

RunEnd EagerRun::go_on() {
  pause_due_ = false;
  for (bool first = true; !frames_.empty(); first = false) {  // a slice makes one step at least
    if (!plan_paused_) {
      if (Status s = look(); !s) return failed(std::move(s).error());
      if (pause_due_ && !first) return RunEnd::Paused;
    }
    const Result<Next> next = advance();
    if (!next) return failed(next.error());
    if (*next == Next::Paused) return RunEnd::Paused;
  }
  return RunEnd::Done;
}

RunEnd EagerRun::failed(Error e) {
  error_ = std::move(e);
  // Between a block and the step that waits for it the error is that step's.
  for (std::size_t k = frames_.size(); k-- > 0 && !failed_;) {
    const Frame& f = frames_[k];
    if (f.at == f.code->steps.size()) continue;
    failed_at_ = f.code->steps[f.at].origin;
    failed_ = true;
  }
  frames_.clear();
  return RunEnd::Failed;
}

// The next step of the innermost block, or its end.
Result<EagerRun::Next> EagerRun::advance() {
  Frame& f = frames_.back();
  if (f.at == f.code->steps.size()) {
    if (Status s = leave(); !s) return std::move(s).error();
    return Next::Step;
  }
  const EagerStep& s = f.code->steps[f.at];
  const Result<Next> next = step(s, f);
  if (!next || *next != Next::Step) return next;
  for (Slot dead : s.dead) f.slots[dead] = {};
  ++f.at;
  return next;
}

void EagerRun::enter(const EagerCode& code, std::vector<Tensor> args) {
  Frame f;
  f.code = &code;
  f.owners_mark = kept_->owners.size();
  f.tapes_mark = kept_->tapes.mark();
  if (frames_.empty() && code.gives_tapes) kept_->owners = args;  // a tape that was given may be given back
  args.resize(code.slots);
  f.slots = std::move(args);
  frames_.push_back(std::move(f));
}

Status EagerRun::leave() {
  Frame& ended = frames_.back();
  std::vector<Tensor> out = ended.take(ended.code->results, 0, ended.code->results.size());
  ended.slots.clear();
  if (!ended.code->gives_tapes) {
    kept_->owners.resize(ended.owners_mark);
    kept_->tapes.release(ended.tapes_mark);
  } else if (frames_.size() == 1) {
    if (Status owned = own_tapes(*ended.code, out); !owned) return owned;
  }
  if (ended.code->fresh)
    if (Status fresh = make_fresh(out); !fresh) return fresh;
  frames_.pop_back();
  if (frames_.empty()) {
    results_ = std::move(out);
    return ok();
  }
  Frame& f = frames_.back();
  return block_ended(f.code->steps[f.at], f, std::move(out));
}

}  // namespace tfvm
