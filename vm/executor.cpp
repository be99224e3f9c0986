// What every step may rely on, and must keep:
//  1. roots[] of the frame at hand are set before the first step and never change during the run of a plan, except that
//     a loop sets those of its body's frame before each trip.
//  2. A place is roots[root] + offset; parameters and results are row-major and aligned for their dtype, not to 64.
//  3. A parameter's memory is never written, a result's memory is written by one step only, except where a loop gave
//     both the same memory (may_share).
//  4. The memory of constants and kept carries may be read-only.
//  5. A failed step leaves results unspecified; nothing behind it runs.
#include "vm/executor.h"

#include <algorithm>

#include <fmt/format.h>

#include "bytecode/consts.h"
#include "vm/run_steps.h"

namespace tfvm {

bool Executor::run(const Plan& plan, std::byte* frame) {
  const std::size_t mark = tapes_.mark();
  std::byte** roots = roots_of(frame);
  roots[kFrameRoot] = frame;
  roots[kPoolRoot] = plan.pool ? plan.pool->data() : nullptr;
  const auto n = static_cast<std::uint32_t>(plan.steps.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    if (step(plan, i, roots)) [[likely]]
      continue;
    if (!plan_) {
      plan_ = &plan;
      step_ = i;
    }
    return false;
  }
  for (const ResultCopy& c : plan.result_copies)
    copy_bytes(roots[plan.first_result() + c.result], roots[kFirstParam + c.param], c.bytes);
  if (!plan.gives_tapes && tapes_.mark() > mark) tapes_.release(mark);
  return true;
}

bool Executor::step(const Plan& plan, std::uint32_t i, std::byte** roots) {
  const PlanStep s = plan.steps[i];
  switch (s.kind) {
    case StepKind::Nest:
      return nest(plan, plan.nests[s.index], roots);
    case StepKind::Kernel:
      return kernel(plan, plan.kernels[s.index], roots);
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
      code_ = Code::Assert;
      return false;
    case StepKind::Print: {
      const PrintStep& p = plan.prints[s.index];
      if (sink_.print)
        sink_.print(sink_.user, p.label, Tensor::over(at(roots, p.value), p.type.dtype, row_major(p.type.dims)));
      return true;
    }
  }
  return true;
}

bool Executor::nest(const Plan& plan, const NestStep& s, std::byte** roots) {
  std::byte* bases[NestStep::kMaxBases];
  set_roots(bases, roots, plan, s.bases);
  run_nest(*s.code, bases, at(roots, s.scratch));
  return true;
}

bool Executor::kernel(const Plan& plan, const KernelStep& s, std::byte** roots) {
  std::byte* scratch = at(roots, s.scratch);
  View* views = reinterpret_cast<View*>(scratch + align_up(static_cast<std::int64_t>(s.kernel.scratch_bytes)));
  const Address* places = plan.places.data() + s.places.begin;
  for (std::size_t k = 0; k < s.views.size(); ++k) {
    views[k] = s.views[k];
    views[k].data = at(roots, places[k]);
  }
  IndexFailure failure;
  s.kernel({views, views + s.inputs, scratch, &failure});
  if (!failure.failed) return true;
  code_ = Code::Index;
  index_ = failure;
  return false;
}

bool Executor::call(const Plan& plan, const CallStep& s, std::byte** roots) {
  if (!poll()) return false;
  std::size_t which = 0;
  if (s.targets.size() > 1) {
    const std::int64_t i = load_int(s.selector_dtype, at(roots, s.selector));
    const auto last = static_cast<std::int64_t>(s.targets.size()) - 1;
    if (s.selector_dtype == DType::Bool) {
      which = i ? 0 : 1;
    } else if (s.selector_dtype == DType::U64 && i < 0) {
      which = static_cast<std::size_t>(last);
    } else {
      which = static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, last));
    }
  }
  const Plan& target = *s.targets[which];
  std::byte* frame = at(roots, s.frame);
  set_roots(roots_of(frame) + kFirstParam, roots, plan, s.args);
  set_roots(roots_of(frame) + target.first_result(), roots, plan, s.results);
  return run(target, frame);
}

bool Executor::loop(const ScanStep& s, const Plan& plan, std::byte** roots) {
  const Plan& body = *s.body;
  std::byte* frame = at(roots, s.frame);
  std::byte** params = roots_of(frame) + kFirstParam;
  std::byte** results = roots_of(frame) + body.first_result();
  set_roots(params, roots, plan, s.consts);
  params += s.consts.count;
  const std::size_t carries = s.carries.size();
  for (std::size_t k = 0; k < carries; ++k) start(s.carries[k], roots, params[k], results[k]);
  for (std::int64_t trip = 0; trip < s.length; ++trip) {
    const std::int64_t i = s.reverse ? s.length - 1 - trip : trip;
    // The last trip writes to the result.
    const bool to_result = (s.length - 1 - trip) % 2 == 0;
    for (std::size_t k = 0; k < carries; ++k)
      if (s.carries[k].kind == LoopCarry::Kind::Alternate)
        results[k] = at(roots, to_result ? s.carries[k].result : s.carries[k].temp);
    for (std::size_t k = 0; k < s.inputs.size(); ++k)
      params[carries + k] = at(roots, s.inputs[k].place) + i * s.inputs[k].stride;
    for (std::size_t k = 0; k < s.outputs.size(); ++k)
      results[carries + k] = at(roots, s.outputs[k].place) + i * s.outputs[k].stride;
    if (!poll() || !run(body, frame)) return false;
    for (std::size_t k = 0; k < carries; ++k) params[k] = results[k];
  }
  for (std::size_t k = 0; k < carries; ++k) copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
  return true;
}

bool Executor::loop(const Plan& plan, const WhileStep& s, std::byte** roots) {
  const Plan &cond = *s.cond, &body = *s.body;
  std::byte* cond_frame = at(roots, s.cond_frame);
  std::byte* body_frame = at(roots, s.body_frame);
  std::byte** params = roots_of(body_frame) + kFirstParam;
  std::byte** results = roots_of(body_frame) + body.first_result();
  std::byte** seen = roots_of(cond_frame) + kFirstParam;
  const std::byte* again = roots_of(cond_frame)[cond.first_result()] = at(roots, s.predicate);
  set_roots(params, roots, plan, s.body_consts);
  set_roots(seen, roots, plan, s.cond_consts);
  params += s.body_consts.count;
  seen += s.cond_consts.count;
  const std::size_t carries = s.carries.size();
  for (std::size_t k = 0; k < carries; ++k) start(s.carries[k], roots, params[k], results[k]);
  for (const TapeRow& t : s.tapes) set_tape(at(roots, t.place), tapes_.make(t.bytes));
  for (bool to_result = true;; to_result = !to_result) {
    for (std::size_t k = 0; k < carries; ++k) seen[k] = params[k];
    if (!poll() || !run(cond, cond_frame)) return false;
    if (*again == std::byte{0}) break;
    for (std::size_t k = 0; k < carries; ++k)
      if (s.carries[k].kind == LoopCarry::Kind::Alternate)
        results[k] = at(roots, to_result ? s.carries[k].result : s.carries[k].temp);
    for (std::size_t k = 0; k < s.tapes.size(); ++k)
      if (!(results[carries + k] = tape_at(at(roots, s.tapes[k].place))->append())) return out_of_memory();
    if (!run(body, body_frame)) return false;
    for (std::size_t k = 0; k < carries; ++k) params[k] = results[k];
  }
  for (std::size_t k = 0; k < carries; ++k) copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
  return true;
}

namespace {

// The next index in row-major order; false behind the last. `offset(k)` of each operand follows by its strides.
template <class Move>
bool next(std::span<const std::int64_t> extents, std::int64_t* index, Move move) {
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (++index[d] < extents[d]) {
      move(d, 1);
      return true;
    }
    move(d, 1 - extents[d]);
    index[d] = 0;
  }
  return false;
}

bool any_empty(std::span<const std::int64_t> extents) { return std::ranges::find(extents, 0) != extents.end(); }

}  // namespace

bool Executor::reduce(const ReduceStep& s, std::byte** roots) {
  if (any_empty(s.kept)) return true;
  std::byte* frame = at(roots, s.frame);
  const std::size_t n = s.operands.size();
  // temp: an index per dim, an offset per operand, two accumulators of 16 bytes per operand.
  auto* kept = reinterpret_cast<std::int64_t*>(at(roots, s.temp));
  std::int64_t* reduced = kept + s.kept.size();
  std::int64_t* offset = reduced + s.reduced.size();
  std::byte* accumulators = reinterpret_cast<std::byte*>(offset + n);
  std::byte** params = roots_of(frame) + kFirstParam;
  std::byte** results = roots_of(frame) + s.body->first_result();
  std::fill(kept, offset + n, 0);
  for (std::int64_t out = 0;; ++out) {
    for (std::size_t k = 0; k < n; ++k) {
      params[k] = at(roots, s.operands[k].init);
      results[k] = accumulators + 32 * k;
    }
    bool more = !any_empty(s.reduced);
    while (more) {
      for (std::size_t k = 0; k < n; ++k) params[n + k] = at(roots, s.operands[k].x) + offset[k];
      if (!poll() || !run(*s.body, frame)) return false;
      for (std::size_t k = 0; k < n; ++k) {
        params[k] = results[k];
        std::byte* first = accumulators + 32 * k;
        results[k] = results[k] == first ? first + 16 : first;
      }
      more = next(s.reduced, reduced, [&](std::size_t d, std::int64_t by) {
        for (std::size_t k = 0; k < n; ++k) offset[k] += by * s.operands[k].reduced_strides[d];
      });
    }
    for (std::size_t k = 0; k < n; ++k)
      copy_bytes(at(roots, s.operands[k].result) + out * s.operands[k].size, params[k], s.operands[k].size);
    const bool last = !next(s.kept, kept, [&](std::size_t d, std::int64_t by) {
      for (std::size_t k = 0; k < n; ++k) offset[k] += by * s.operands[k].kept_strides[d];
    });
    if (last) return true;
  }
}

bool Executor::poll() {
  if (--steps_left_ < 0) {
    code_ = Code::Limit;
  } else if (limits_.cancel && limits_.cancel->load(std::memory_order_relaxed)) {
    code_ = Code::Cancelled;
  } else if (limits_.deadline && std::chrono::steady_clock::now() >= *limits_.deadline) {
    code_ = Code::Limit;
  } else {
    return true;
  }
  return false;
}

bool Executor::out_of_memory() {
  code_ = Code::Memory;
  return false;
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
      return Error(code_, "the memory of a loop's tape can't be allocated");
    case Code::Cancelled:
      return Error(code_, "the call was cancelled");
    default:
      return Error(code_, steps_left_ < 0 ? fmt::format("the limit of {} steps is reached", limits_.steps)
                                          : std::string("the deadline has passed"));
  }
}

}  // namespace tfvm
