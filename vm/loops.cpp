// Calls and loops. Each trip sets pointers in the frame of its body; where a trip is left in a pause, they stay.
#include <algorithm>
#include <chrono>

#include "bytecode/consts.h"
#include "vm/executor.h"
#include "vm/run_steps.h"
#include "vm/tiers.h"

namespace tfvm {

namespace {

std::size_t target_of(const CallStep& s, std::byte* const* roots) {
  if (s.targets.size() == 1) return 0;
  const std::int64_t i = load_int(s.selector_dtype, at(roots, s.selector));
  const auto last = static_cast<std::int64_t>(s.targets.size()) - 1;
  if (s.selector_dtype == DType::Bool) return i ? 0 : 1;
  if (s.selector_dtype == DType::U64 && i < 0) return static_cast<std::size_t>(last);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, last));
}

// Whether a level that is taken up again stood within what it calls, not before it; of a `while` in machine code, where
// its carries are.
enum Inside : std::int64_t { kCarriesWereMoved = -2, kCarriesAtFirst, kBefore, kWithin, kWithinBody };

// Additions (time_of) by machine code between two looks at the clock and the flag: some 20 us.
constexpr std::int64_t kWorkOfLook = 1 << 17;
constexpr std::chrono::microseconds kTimeOfLook{20};
constexpr std::int64_t kManyTrips = 1 << 20;  // enough for any loop to be worth machine code

std::int64_t trips_between_looks(const NativeLoop& loop) {
  return std::max<std::int64_t>(1, kWorkOfLook / (loop.work + 1));
}

}  // namespace

bool Executor::call(const Plan& plan, const CallStep& s, std::byte** roots) {
  const std::int64_t stood = rewinding() ? restore() : kBefore;
  if (stood == kBefore && !poll()) return leave({kBefore});
  const Plan& target = *s.targets[target_of(s, roots)];
  std::byte* frame = at(roots, s.frame);
  set_roots(roots_of(frame) + kFirstParam, roots, plan, s.args);
  set_roots(roots_of(frame) + target.first_result(), roots, plan, s.results);
  return run(target, frame) || leave({kWithin});
}

// The loop as machine code from a trip on: all at once, or, where somebody watches, a few trips at a time; its carries
// are then where it ends meanwhile.
bool Executor::native_loop(const NativeNest& code, const ScanStep& s, const Plan& plan, std::byte** roots,
                           std::int64_t trip) {
  const std::size_t consts = s.consts.count, carries = s.carries.size(), inputs = s.inputs.size();
  const std::int64_t step = watched_ ? trips_between_looks(s.native) : s.length;
  std::byte* bases[NativeLoop::kMaxBases];
  for (bool first = true; trip < s.length; trip += step, first = false) {
    if (!first) {
      watch_.credit = 0;
      if (!poll()) return leave({-1 - trip});
    }
    const std::int64_t count = std::min(step, s.length - trip);
    steps_left_ -= first ? count : count - 1;
    set_roots(bases, roots, plan, s.native.bases);
    const std::int64_t rows = s.reverse ? -trip : trip;
    for (std::size_t k = 0; k < carries && trip > 0; ++k) bases[consts + k] = at(roots, s.carries[k].result);
    for (std::size_t k = 0; k < inputs; ++k) bases[consts + carries + k] += rows * s.inputs[k].stride;
    for (std::size_t k = 0; k < s.outputs.size(); ++k)
      bases[consts + 2 * carries + inputs + k] += rows * s.outputs[k].stride;
    count < s.length ? code.run_trips(bases, count) : code.run(bases);
  }
  return true;
}

bool Executor::loop(const ScanStep& s, const Plan& plan, std::byte** roots) {
  std::int64_t trip = 0, stood = kBefore;
  const bool again = rewinding();
  if (again) [[unlikely]]
    stood = restore();
  if (s.native.code) {
    const NativeNest* code = s.native.code->ready();
    if (stood < 0) return native_loop(*code, s, plan, roots, -1 - stood);
    if (code && !again && steps_left_ >= s.length && (!watched_ || code->can_run_trips()))
      return native_loop(*code, s, plan, roots, 0);
    s.native.code->ran(s.native.work * std::min(s.length, kManyTrips));
  }
  const Plan& body = *s.body;
  std::byte* frame = at(roots, s.frame);
  std::byte** params = roots_of(frame) + kFirstParam;
  std::byte** results = roots_of(frame) + body.first_result();
  const std::size_t carries = s.carries.size();
  if (again) [[unlikely]] {
    trip = restore();
    params += s.consts.count;
  } else {
    set_roots(params, roots, plan, s.consts);
    params += s.consts.count;
    for (std::size_t k = 0; k < carries; ++k) start_carry(s.carries[k], roots, params[k], results[k]);
  }
  for (; trip < s.length; ++trip) {
    if (stood == kBefore && s.native.code && trip > 0 && steps_left_ >= s.length - trip) {
      // Code may have come meanwhile: it takes the loop over, with carries where it would have left them.
      if (const NativeNest* code = s.native.code->ready(); code && code->can_run_trips()) [[unlikely]] {
        for (std::size_t k = 0; k < carries; ++k)
          copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
        return native_loop(*code, s, plan, roots, trip);
      }
    }
    if (stood == kBefore) {
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
      if (!poll()) return leave({trip, kBefore});
    }
    if (!run(body, frame)) return leave({trip, kWithin});
    stood = kBefore;
    for (std::size_t k = 0; k < carries; ++k) params[k] = results[k];
  }
  for (std::size_t k = 0; k < carries; ++k) copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
  return true;
}

// The same of `while`. Each trip begins with a step, and so does the last look at the condition; the code makes no more
// trips than there are steps, or than lie between two looks.
bool Executor::native_loop(const NativeNest& code, const WhileStep& s, const Plan& plan, std::byte** roots,
                           bool is_first) {
  std::byte* bases[NativeLoop::kMaxBases];
  set_roots(bases, roots, plan, s.native.bases);
  std::byte** carries = bases + s.cond_consts.count + s.body_consts.count;
  std::int64_t step = trips_between_looks(s.native);
  for (;; is_first = false) {
    if (!is_first)
      for (std::size_t k = 0; k < s.carries.size(); ++k) carries[k] = carries[s.carries.size() + k];
    if (!poll()) return leave({is_first ? kCarriesAtFirst : kCarriesWereMoved});
    const std::int64_t most = watched_ ? std::min(steps_left_ + 1, step) : steps_left_ + 1;
    std::int64_t left = most;
    bases[s.native.bases.count] = reinterpret_cast<std::byte*>(&left);
    const auto begin = watched_ ? RunLimits::Time::clock::now() : RunLimits::Time();
    code.run(bases);
    steps_left_ -= most - left - (left == 0);
    if (left > 0) return true;
    watch_.credit = 0;
    // Fewer lanes are left than there were, and none will come back: more trips take no longer.
    if (watched_ && RunLimits::Time::clock::now() - begin < kTimeOfLook / 2) step = std::min(2 * step, kManyTrips);
  }
}

bool Executor::loop(const Plan& plan, const WhileStep& s, std::byte** roots) {
  const Plan &cond = *s.cond, &body = *s.body;
  std::byte* cond_frame = at(roots, s.cond_frame);
  std::byte* body_frame = at(roots, s.body_frame);
  std::byte** params = roots_of(body_frame) + kFirstParam;
  std::byte** results = roots_of(body_frame) + body.first_result();
  std::byte** seen = roots_of(cond_frame) + kFirstParam;
  const std::byte* again = at(roots, s.predicate);
  const std::size_t carries = s.carries.size();
  std::int64_t to_result = 1, stood = kBefore;
  if (rewinding()) [[unlikely]] {
    stood = restore();
    if (stood < 0) return native_loop(*s.native.code->ready(), s, plan, roots, stood == kCarriesAtFirst);
    to_result = restore();
  } else {
    if (s.native.code)
      if (const NativeNest* code = s.native.code->ready()) return native_loop(*code, s, plan, roots, true);
    roots_of(cond_frame)[cond.first_result()] = at(roots, s.predicate);
    set_roots(params, roots, plan, s.body_consts);
    set_roots(seen, roots, plan, s.cond_consts);
    for (std::size_t k = 0; k < carries; ++k)
      start_carry(s.carries[k], roots, params[s.body_consts.count + k], results[k]);
    for (const TapeRow& t : s.tapes) set_tape(at(roots, t.place), tapes_.make(t.bytes));
  }
  params += s.body_consts.count;
  seen += s.cond_consts.count;
  for (;; to_result = !to_result) {
    if (stood == kBefore) {
      if (s.native.code) {
        s.native.code->ran(s.native.work);
        if (const NativeNest* code = s.native.code->ready()) [[unlikely]] {  // it takes over
          for (std::size_t k = 0; k < carries; ++k)
            copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
          return native_loop(*code, s, plan, roots, false);
        }
      }
      for (std::size_t k = 0; k < carries; ++k) seen[k] = params[k];
      if (!poll()) return leave({to_result, kBefore});
    }
    if (stood != kWithinBody) {
      if (!run(cond, cond_frame)) return leave({to_result, kWithin});
      if (*again == std::byte{0}) break;
      for (std::size_t k = 0; k < carries; ++k)
        if (s.carries[k].kind == LoopCarry::Kind::Alternate)
          results[k] = at(roots, to_result ? s.carries[k].result : s.carries[k].temp);
      for (std::size_t k = 0; k < s.tapes.size(); ++k)
        if (!(results[carries + k] = tape_at(at(roots, s.tapes[k].place))->append())) return fail(Code::Memory);
    }
    if (!run(body, body_frame)) return leave({to_result, kWithinBody});
    stood = kBefore;
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
  std::int64_t out = 0, stood = kBefore;
  bool again = rewinding();
  if (again) {
    stood = restore();
    out = restore();
  } else {
    std::fill(kept, offset + n, 0);
  }
  for (;; ++out) {
    for (std::size_t k = 0; k < n && !again; ++k) {
      params[k] = at(roots, s.operands[k].init);
      results[k] = accumulators + 32 * k;
    }
    again = false;
    bool more = !any_empty(s.reduced);
    while (more) {
      for (std::size_t k = 0; k < n; ++k) params[n + k] = at(roots, s.operands[k].x) + offset[k];
      if (stood == kBefore && !poll()) return leave({out, kBefore});
      if (!run(*s.body, frame)) return leave({out, kWithin});
      stood = kBefore;
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

}  // namespace tfvm
