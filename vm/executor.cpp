// What every step may rely on, and must keep:
//  1. roots[] of the frame at hand are set before the first step and never change during the run of a plan, except that
//     a loop sets those of its body's frame before each trip.
//  2. A place is roots[root] + offset; parameters and results are row-major and aligned for their dtype, not to 64.
//  3. A parameter's memory is never written, a result's memory is written by one step only, except where a loop gave
//     both the same memory (may_share).
//  4. The memory of constants and kept carries may be read-only.
//  5. A failed step leaves results unspecified; nothing behind it runs.
//  6. A level that may be left in a pause keeps nothing in local variables but what it pushes, and what follows from
//     the plan and the frame.
#include "vm/executor.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/float_mode.h"
#include "vm/run_steps.h"
#include "vm/tiers.h"
#include "vm/trace.h"

namespace tfvm {

namespace {

// How much may be done between two looks at the clock: a step of a plan, or a trip, costs 1, a node over a block 8
// (kBlockCredit). A look costs some 25 ns; 256 take 3 us where they are cheapest, half a millisecond where dearest.
constexpr std::int64_t kCredit = 256, kUnlimited = std::int64_t{1} << 62;
static_assert(kMostCredit < kCredit);
constexpr std::int64_t kPartWork = 64;  // least evaluations of a part of a nest, in blocks
// The same of native code in additions (time_of), and how many of them cost a credit: 20 us at most.
constexpr std::int64_t kNativePartWork = 1 << 16, kNativeWorkPerCredit = 256;
constexpr std::int64_t kNativeWatchedWork = 1 << 21;  // where a call may only be cancelled, or has a deadline
constexpr std::int64_t kNativeUncutWork = 1 << 25;    // then, of a nest that can't be cut: some half of a ms

}  // namespace

const NativeNest* Executor::small_code(const Plan& plan) {
  return plan.is_direct && plan.nests[0].work <= kNativePartWork ? plan.nests[0].native->ready() : nullptr;
}

[[gnu::aligned(64)]] RunEnd Executor::start(const Plan& plan, std::byte* frame) {
  plan_ = nullptr;
  steps_left_ = limits_.steps;
  if (plan.is_direct && !limits_.trace && !is_cancelled()) {
    const NativeNest* code = small_code(plan);
    if (!code && !jobs_.run && !limits_.cancel && !limits_.deadline && !limits_.pause)
      code = plan.nests[0].native->ready();
    if (code) [[likely]] {
      code->run(roots_of(frame) + kFirstParam);
      return RunEnd::Done;
    }
  }
  return start_steps(plan, frame);
}

[[gnu::noinline]] RunEnd Executor::start_steps(const Plan& plan, std::byte* frame) {
  if (plan.is_all_nests && !limits_.trace && !is_cancelled() && run_nests(plan, frame)) return RunEnd::Done;
  if (limits_.pause) saved_.reserve(8 * std::size_t{plan.depth});
  return go_on(plan, frame);
}

// All steps at once, where nobody looks on. False: nothing was done.
[[gnu::aligned(64)]] bool Executor::run_nests(const Plan& plan, std::byte* frame) {
  if (plan.work > kNativePartWork && (jobs_.run || limits_.cancel || limits_.deadline || limits_.pause)) return false;
  for (const NestStep& s : plan.nests)
    if (!s.native->ready()) return false;
  std::byte** roots = roots_of(frame);
  roots[kFrameRoot] = frame;
  roots[kPoolRoot] = plan.pool ? plan.pool->data() : nullptr;
  std::byte* bases[NestStep::kMaxBases];
  for (const NestStep& s : plan.nests) {
    set_roots(bases, roots, plan, s.bases);
    s.native->ready()->run(bases);
  }
  return true;
}

RunEnd Executor::resume(const Plan& plan, std::byte* frame) {
  paused_ = false;
  return go_on(plan, frame);
}

RunEnd Executor::go_on(const Plan& plan, std::byte* frame) {
  watched_ = limits_.cancel || limits_.deadline || limits_.pause;
  watch_.credit = is_cancelled() ? 0 : watched_ ? kCredit : kUnlimited;  // 0: the first step looks
  pause_due_ = false;
  if (run(plan, frame)) return RunEnd::Done;
  if (paused_) return RunEnd::Paused;
  saved_.clear();  // where it was ended before it stood where it had paused
  tapes_.release(0);
  return RunEnd::Failed;
}

void Executor::abandon() {
  saved_.clear();
  paused_ = false;
  tapes_.release(0);
}

bool Executor::run(const Plan& plan, std::byte* frame) {
  std::byte** roots = roots_of(frame);
  std::uint32_t i = 0;
  std::size_t mark = tapes_.mark();
  if (rewinding()) [[unlikely]] {
    i = static_cast<std::uint32_t>(restore());
    mark = static_cast<std::size_t>(restore());
  } else {
    roots[kFrameRoot] = frame;
    roots[kPoolRoot] = plan.pool ? plan.pool->data() : nullptr;
  }
  const auto n = static_cast<std::uint32_t>(plan.steps.size());
  for (; i < n; ++i) {
    if ((--watch_.credit > 0 || look(true)) && (limits_.trace ? traced_step(plan, i, roots) : step(plan, i, roots)))
        [[likely]] {
      if (did_next_) [[unlikely]]
        did_next_ = false, ++i;
      continue;
    }
    if (!paused_ && !plan_) {
      plan_ = &plan;
      step_ = i;
    }
    return leave({static_cast<std::int64_t>(mark), i});
  }
  for (const ResultCopy& c : plan.result_copies)
    copy_bytes(roots[plan.first_result() + c.result], roots[kFirstParam + c.param], c.bytes);
  if (!plan.gives_tapes && tapes_.mark() > mark) tapes_.release(mark);
  return true;
}

bool Executor::traced_step(const Plan& plan, std::uint32_t i, std::byte** roots) {
  const std::size_t event = limits_.trace->begin(plan, i);
  const bool done = step(plan, i, roots);
  limits_.trace->end(event);
  return done;
}

bool Executor::step(const Plan& plan, std::uint32_t i, std::byte** roots) {
  const PlanStep s = plan.steps[i];
  switch (s.kind) {
    case StepKind::Nest:
      return nest(plan, plan.nests[s.index], roots);
    case StepKind::Kernel:
      return kernel(plan, i, plan.kernels[s.index], roots);
    case StepKind::Call:
      return call(plan, plan.calls[s.index], roots);
    case StepKind::While:
      return loop(plan, plan.whiles[s.index], roots);
    case StepKind::Scan:
      return loop(plan.scans[s.index], plan, roots);
    case StepKind::TapeScan:
      return loop(plan.tape_scans[s.index], plan, roots);
    case StepKind::Reduce:
      return reduce(plan.reduces[s.index], roots);
    case StepKind::Assert:
      if (*at(roots, plan.asserts[s.index].predicate) != std::byte{0}) return true;
      return fail(Code::Assert);
    case StepKind::Print: {
      const PrintStep& p = plan.prints[s.index];
      if (sink_.print)
        sink_.print(sink_.user, p.label, Tensor::over(at(roots, p.value), p.type.dtype, row_major(p.type.dims)));
      return true;
    }
  }
  return true;
}

// Of one nest, run by jobs.
struct Executor::Parts {
  const NestCode* code = nullptr;
  const NativeNest* native = nullptr;
  std::byte* const* bases;
  std::byte* scratch = nullptr;
  std::size_t stride = 0, count = 0;
  const RunLimits* limits = nullptr;
  std::atomic<bool>* stopped = nullptr;
  static void run(void* arg, std::size_t k);
};

bool Executor::nest(const Plan& plan, const NestStep& s, std::byte** roots) {
  std::byte* bases[NestStep::kMaxBases];
  set_roots(bases, roots, plan, s.bases);
  const std::int64_t stood = rewinding() ? restore() : 0;  // windows done, or -1 - parts done by native code
  if (s.native) {
    const NativeNest* code = s.native->ready();
    // Where somebody watches, parts must be short, and the interpreter's blocks always are.
    const std::int64_t most = limits_.pause ? 4 * kNativePartWork : kNativeUncutWork;
    const bool is_slow = code && watched_ && s.work > most && s.work / code->max_parts(kNativePartWork) > most;
    if (code && stood <= 0 && !is_slow) return native(*code, bases, stood < 0 ? -1 - stood : 0);
    s.native->ran(s.work);
  }
  if (jobs_.run && stood == 0) {
    const std::int64_t parts = std::min(max_parts(*s.code, kPartWork), static_cast<std::int64_t>(jobs_.width));
    if (parts > 1) return nest_in_parts(s, bases, static_cast<std::size_t>(parts));
  }
  if (!watched_) {
    run_nest(*s.code, bases, at(roots, s.scratch));
    return true;
  }
  watch_.self = this;
  watch_.look = [](NestWatch& w) { return static_cast<Watch&>(w).self->look(w.can_resume); };
  watch_.windows_done = stood;
  if (!run_nest(*s.code, bases, at(roots, s.scratch), &watch_)) return leave({watch_.windows_done});
  if (pause_due_) watch_.credit = 0;
  return true;
}

// From a part on, in parts where somebody watches or helps.
bool Executor::native(const NativeNest& code, std::byte* const* bases, std::int64_t part) {
  if (!watched_ && !jobs_.run) [[likely]] {
    code.run(bases);
    return true;
  }
  const bool is_fine = jobs_.run || limits_.pause;
  const std::int64_t parts = code.max_parts(is_fine ? kNativePartWork : kNativeWatchedWork);
  if (jobs_.run && parts > 1 && part == 0)
    return in_jobs(
        {.native = &code, .bases = bases},
        static_cast<std::size_t>(watched_ ? parts : std::min(parts, static_cast<std::int64_t>(jobs_.width))));
  while (part < parts) {
    code.run_part(bases, part++, parts);
    watch_.credit -= std::min(code.work() / parts / kNativeWorkPerCredit, kCredit);
    if (watch_.credit <= 0 && !look(true)) return leave({-1 - part});
  }
  return true;
}

namespace {

struct PartWatch : NestWatch {
  const RunLimits* limits;
};

bool look_at_part(NestWatch& w) {
  const RunLimits& limits = *static_cast<PartWatch&>(w).limits;
  w.credit = kCredit;
  if (limits.cancel && limits.cancel->load(std::memory_order_relaxed)) return false;
  return !limits.deadline || std::chrono::steady_clock::now() < *limits.deadline;
}

}  // namespace

void Executor::Parts::run(void* arg, std::size_t k) {
  const Parts& p = *static_cast<const Parts*>(arg);
  const FloatMode mode;
  PartWatch watch{{&look_at_part, kCredit}, p.limits};
  const NestPart part{static_cast<std::int64_t>(k), static_cast<std::int64_t>(p.count)};
  const bool done = p.native ? !p.stopped->load(std::memory_order_relaxed) && look_at_part(watch)
                             : run_nest(*p.code, p.bases, p.scratch + k * p.stride, &watch, part);
  if (!done)
    p.stopped->store(true, std::memory_order_relaxed);
  else if (p.native)
    p.native->run_part(p.bases, part.index, part.count);
}

bool Executor::in_jobs(Parts job, std::size_t parts) {
  std::atomic<bool> stopped = false;
  job.count = parts;
  job.limits = &limits_;
  job.stopped = &stopped;
  jobs_.run(jobs_.user, &Parts::run, &job, parts);
  watch_.credit = 0;
  return !stopped.load(std::memory_order_relaxed) || look(false);
}

bool Executor::nest_in_parts(const NestStep& s, std::byte* const* bases, std::size_t parts) {
  const std::size_t stride = scratch_bytes(*s.code);
  const auto bytes = static_cast<std::int64_t>(stride * parts);
  if (!parts_scratch_ || parts_scratch_->bytes() < bytes) {
    parts_scratch_ = {};
    parts_scratch_ = StorageRef::allocate(budget_, bytes);
    if (!parts_scratch_) return fail(Code::Memory);
  }
  return in_jobs({.code = s.code.get(), .bases = bases, .scratch = parts_scratch_->data(), .stride = stride}, parts);
}

namespace {

static_assert(kBlockSide % NativeNest::kTileCols == 0);

// The nest behind a product, run on its blocks.
struct Epilogue : BlockSink {
  const NativeNest* code = nullptr;
  std::byte* bases[NestStep::kMaxBases];
  std::int64_t cols = 0, elements = 0;  // of the product; that are left
};

void run_on_block(BlockSink& sink, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
  auto& e = static_cast<Epilogue&>(sink);
  e.code->run_tile(e.bases, {row, rows, col, cols, e.cols});
  e.elements -= rows * cols;
}

}  // namespace

// Nobody looks at a clock in a product: an epilogue adds little to it.
bool Executor::kernel(const Plan& plan, std::uint32_t i, const KernelStep& s, std::byte** roots) {
  std::byte* scratch = at(roots, s.scratch);
  View* views = reinterpret_cast<View*>(scratch + align_up(static_cast<std::int64_t>(s.kernel.scratch_bytes)));
  const Address* places = plan.places.data() + s.places.begin;
  for (std::size_t k = 0; k < s.views.size(); ++k) {
    views[k] = s.views[k];
    views[k].data = at(roots, places[k]);
  }
  watch_.credit -= s.work * kBlockCredit;
  IndexFailure failure;
  KernelCall call{views, views + s.inputs, scratch, &failure};
  const NestStep* next =
      s.has_epilogue && !jobs_.run && !limits_.trace ? &plan.nests[plan.steps[i + 1].index] : nullptr;
  const NativeNest* code = next && next->native ? next->native->ready() : nullptr;
  if (code && code->has_tiles(s.kernel.rows, s.kernel.cols)) {
    Epilogue e{{&run_on_block}, code, {}, s.kernel.cols, s.kernel.rows * s.kernel.cols};
    set_roots(e.bases, roots, plan, next->bases);
    call.blocks = &e;
    s.kernel(call);
    did_next_ = e.elements == 0;
    return true;
  }
  s.kernel(call);
  if (!failure.failed) return true;
  index_ = failure;
  return fail(Code::Index);
}

bool Executor::poll() {
  if (--steps_left_ < 0) return fail(Code::Limit);
  if (is_cancelled()) return fail(Code::Cancelled);
  if (--watch_.credit > 0 || look(true)) [[likely]]
    return true;
  if (paused_) ++steps_left_;  // the step is still to be made
  return false;
}

bool Executor::look(bool may_pause) {
  watch_.credit = watched_ ? kCredit : kUnlimited;
  if (is_cancelled()) return fail(Code::Cancelled);
  if (!limits_.deadline && !limits_.pause) return true;
  const RunLimits::Time now = std::chrono::steady_clock::now();
  if (limits_.deadline && now >= *limits_.deadline) return fail(Code::Limit);
  pause_due_ = limits_.pause && now >= *limits_.pause;
  paused_ = may_pause && pause_due_;
  return !paused_;
}

Error Executor::error() const {
  const PlanStep s = plan_->steps[step_];
  switch (code_) {
    case Code::Assert: {
      const std::string& message = plan_->asserts[s.index].message;
      return Error(code_, message.empty() ? "assert failed" : "assert failed: " + message);
    }
    case Code::Index:
      return Error(code_, fmt::format("[{}] index {} is out of range for an extent of {} (element {} of the indices)",
                                      name(plan_->kernels[s.index].op), index_.value, index_.bound, index_.position));
    case Code::Memory:
      return Error(code_, "memory for a tape, or for jobs, can't be allocated");
    case Code::Cancelled:
      return Error(code_, "the call was cancelled");
    default:
      return Error(code_, steps_left_ < 0 ? fmt::format("the limit of {} steps is reached", limits_.steps)
                                          : std::string("the deadline has passed"));
  }
}

}  // namespace tfvm
