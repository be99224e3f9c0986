// What every step may rely on, and must keep:
//  1. A slot holds its tensor from the step that gives it to the last that reads it. Two slots may hold one tensor.
//  2. Results of plans are storages of their own; only View, Move, Call and writes give a tensor that another slot has.
//  3. A write checks its target, then computes, then writes: a step that fails has written nothing.
//  4. What passes the edge of a block (results of branches and loops, carries, scanned inputs) is a value: row-major in
//     a storage that nothing else sees. Consts and captures are the tensors themselves.
//  5. Between two steps all that a run knows is in frames_: it may be left there and taken up again.
#include "vm/eager/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "bytecode/consts.h"

namespace tfvm {

EagerRun::EagerRun(Context& context, std::span<const Tensor> globals, const WriteSites* sites)
    : context_(context), pool_(context.budget()), globals_(globals), sites_(sites) {}

void EagerRun::Frame::take(const Slots& from, std::size_t begin, std::size_t count, std::vector<Tensor>& list) const {
  for (std::size_t k = begin; k < begin + count; ++k) list.push_back(slots[from[k]]);
}

void EagerRun::Frame::give(const Slots& to, std::vector<Tensor>& values) {
  for (std::size_t k = 0; k < to.size(); ++k) slots[to[k]] = std::move(values[k]);
  values.clear();
}

void EagerRun::Frame::clear() { slots.clear(), carries.clear(), scanned.clear(), stacked.clear(), tapes.clear(); }

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
  args_ = std::move(args);
  return start(code);
}

RunEnd EagerRun::start(const EagerCode& code) {
  limits_ = context_.limits;
  steps_left_ = limits_.steps;
  running_ = true;
  failed_ = false;
  failed_at_ = {};
  context_.pool = &pool_;
  if (!kept_ || kept_.use_count() > 1) kept_ = std::make_shared<Kept>(Kept{{}, Tapes(context_.budget())});
  if (frames_.size() < code.depth) frames_.resize(code.depth);
  enter(code);
  return go_on();
}

RunEnd EagerRun::ended(RunEnd end) {
  context_.limits = limits_;
  context_.pool = nullptr;
  running_ = false;
  return end;
}

void EagerRun::reset() {
  if (plan_paused_) context_.abandon();
  plan_paused_ = false;
  if (running_) ended(RunEnd::Failed);
  for (Frame& f : std::span(frames_).first(depth_)) f.clear();
  depth_ = 0;
  for (std::vector<Tensor>* list : {&args_, &given_, &in_, &out_, &results_}) list->clear();
  for (CustomArg& arg : custom_args_) arg.tensors.clear();
  custom_back_.clear();
  error_.reset();
  if (kept_.use_count() > 1) kept_.reset();  // results have it
  if (!kept_) return;
  kept_->owners.clear();
  kept_->tapes.release(0);
}

RunEnd EagerRun::go_on() {
  pause_due_ = false;
  for (bool first = true; depth_ > 0; first = false) {  // a slice makes one step at least
    if (!plan_paused_) {
      if (Status s = look(); !s) return failed(std::move(s).error());
      if (pause_due_ && !first) return RunEnd::Paused;
    }
    const Result<Next> next = advance();
    if (!next) return failed(next.error());
    if (*next == Next::Paused) return RunEnd::Paused;
  }
  return ended(RunEnd::Done);
}

RunEnd EagerRun::failed(Error e) {
  error_ = std::move(e);
  // Between a block and the step that waits for it the error is that step's.
  for (std::size_t k = depth_; k-- > 0 && !failed_;) {
    const Frame& f = frames_[k];
    if (f.at == f.code->steps.size()) continue;
    failed_at_ = f.code->steps[f.at].origin;
    failed_ = true;
  }
  for (; depth_ > 0; --depth_) frames_[depth_ - 1].clear();
  for (std::vector<Tensor>* list : {&args_, &given_, &in_, &out_}) list->clear();
  return ended(RunEnd::Failed);
}

// The next step of the innermost block, or its end.
Result<EagerRun::Next> EagerRun::advance() {
  Frame& f = frames_[depth_ - 1];
  if (f.at == f.code->steps.size()) {
    if (Status s = leave(); !s) return std::move(s).error();
    return Next::Step;
  }
  const EagerStep& s = f.code->steps[f.at];
  const Result<Next> next = step(s, f);
  if (!next || *next != Next::Step) return next;
  if (watch_) [[unlikely]]
    if (Status seen = watch_->after(*this, *f.code, s, f.slots); !seen) return std::move(seen).error();
  for (Slot dead : s.dead) f.slots[dead] = {};
  ++f.at;
  return next;
}

std::vector<LoopTrip> EagerRun::trips() const {
  using Kind = EagerStep::Kind;
  std::vector<LoopTrip> out;
  for (std::size_t k = 0; k + 1 < depth_; ++k) {
    const Frame& f = frames_[k];
    const EagerStep& s = f.code->steps[f.at];
    if (s.kind == Kind::While || s.kind == Kind::Scan || s.kind == Kind::TapeScan)
      out.push_back({s.origin, s.name, s.reverse ? f.length - 1 - f.trip : f.trip});
  }
  return out;
}

void EagerRun::enter(const EagerCode& code) {
  Frame& f = frames_[depth_];
  f.code = &code;
  f.at = 0;
  f.owners_mark = kept_->owners.size();
  f.tapes_mark = kept_->tapes.mark();
  if (depth_ == 0 && code.gives_tapes) kept_->owners = args_;  // a tape that was given may be given back
  f.slots.resize(code.slots);
  std::ranges::move(args_, f.slots.begin());
  args_.clear();
  ++depth_;
}

Status EagerRun::leave() {
  Frame& ended = frames_[depth_ - 1];
  const EagerCode& code = *ended.code;
  given_.clear();
  ended.take(code.results, 0, code.results.size(), given_);
  ended.clear();
  if (!code.gives_tapes) {
    kept_->owners.resize(ended.owners_mark);
    kept_->tapes.release(ended.tapes_mark);
  } else if (depth_ == 1) {
    if (Status owned = own_tapes(code, given_); !owned) return owned;
  }
  if (code.fresh)
    if (Status fresh = make_fresh(given_); !fresh) return fresh;
  if (--depth_ == 0) {
    results_.assign(std::move_iterator(given_.begin()), std::move_iterator(given_.end()));
    given_.clear();
    return ok();
  }
  Frame& f = frames_[depth_ - 1];
  return block_ended(f.code->steps[f.at], f, given_);
}

}  // namespace tfvm
