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

constexpr std::chrono::microseconds kTimeOfLook{20};

// What is kept of a loop before machine code makes trips of it that may find an index outside.
constexpr std::int64_t kTripByTrip = -1;  // in place of the trip: it went back, and no code takes over again

bool may_be_outside(const NativeLoop& n) { return n.code && n.outside_bytes > 0; }

std::int64_t& kept_trip(const NativeLoop& n, std::byte* const* roots) {
  return *reinterpret_cast<std::int64_t*>(at(roots, n.kept));
}

bool went_back(const NativeLoop& n, std::byte* const* roots) {
  return may_be_outside(n) && kept_trip(n, roots) == kTripByTrip;
}

template <class Fn>
void for_kept(const NativeLoop& n, std::span<const LoopCarry> carries, std::byte* const* roots, Fn fn) {
  std::byte* place = at(roots, n.kept) + kAlignment;
  for (std::size_t k = 0; k < carries.size(); place += align_up(carries[k].bytes), ++k) fn(k, place);
}

// `now`: where carries are; null: where they are at first.
void keep(const NativeLoop& n, const Plan& plan, std::span<const LoopCarry> carries, std::byte* const* roots,
          std::byte* const* now, std::int64_t trip) {
  if (!may_be_outside(n)) return;
  const Address& outside = plan.places[n.bases.begin + n.bases.count - 1];
  std::memset(at(roots, outside), 0, static_cast<std::size_t>(n.outside_bytes));
  kept_trip(n, roots) = trip;
  for_kept(n, carries, roots, [&](std::size_t k, std::byte* place) {
    copy_bytes(place, now ? now[k] : at(roots, carries[k].init), carries[k].bytes);
  });
}

bool is_outside(const NativeLoop& n, std::byte* const* bases) {
  if (n.outside_bytes == 0) return false;
  return std::memchr(bases[n.bases.count - 1], 1, static_cast<std::size_t>(n.outside_bytes)) != nullptr;
}

// Pointers for the first trip; where machine code was outside, for the trip that was kept, which it gives.
std::int64_t start_carries(const NativeLoop& n, std::span<const LoopCarry> carries, bool is_back, std::byte** roots,
                           std::byte** params, std::byte** results) {
  const auto start = [&](std::size_t k, std::byte* from) {
    start_carry(carries[k], from, roots, params[k], results[k]);
  };
  if (is_back) {
    for_kept(n, carries, roots, start);
    return std::exchange(kept_trip(n, roots), kTripByTrip);
  }
  for (std::size_t k = 0; k < carries.size(); ++k) start(k, at(roots, carries[k].init));
  if (may_be_outside(n)) kept_trip(n, roots) = 0;
  return 0;
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
Executor::NativeEnd Executor::native_loop(const NativeNest& code, const ScanStep& s, const Plan& plan,
                                          std::byte** roots, std::int64_t trip) {
  const std::size_t consts = s.consts.count, carries = s.carries.size(), inputs = s.inputs.size();
  const std::int64_t step = watched_ ? trips_between_looks(s.native, limits_.pause.has_value()) : s.length;
  std::byte* bases[NativeLoop::kMaxBases];
  for (bool first = true; trip < s.length; trip += step, first = false) {
    if (!first) {
      watch_.credit = 0;
      if (!poll()) return leave({-1 - trip}), NativeEnd::Left;
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
    if (is_outside(s.native, bases)) [[unlikely]] {
      steps_left_ += trip + count - kept_trip(s.native, roots);  // they are made again
      return NativeEnd::Outside;
    }
  }
  return NativeEnd::Done;
}

bool Executor::loop(const ScanStep& s, const Plan& plan, std::byte** roots) {
  std::int64_t trip = 0, stood = kBefore;
  const bool again = rewinding();
  bool is_back = false;  // from machine code that was outside
  if (again) [[unlikely]]
    stood = restore();
  if (s.native.code) {
    const NativeNest* code = s.native.code->ready();
    const bool starts = code && !again && steps_left_ >= s.length && (!watched_ || code->can_run_trips());
    if (starts) keep(s.native, plan, s.carries, roots, nullptr, 0);
    if (stood < 0 || starts) {
      const NativeEnd end = native_loop(*code, s, plan, roots, starts ? 0 : -1 - stood);
      if (end != NativeEnd::Outside) return end == NativeEnd::Done;
      is_back = true;
      stood = kBefore;
    } else {
      s.native.code->ran(s.native.work * std::min(s.length, kManyTrips));
    }
  }
  const Plan& body = *s.body;
  std::byte* frame = at(roots, s.frame);
  std::byte** params = roots_of(frame) + kFirstParam;
  std::byte** results = roots_of(frame) + body.first_result();
  const std::size_t carries = s.carries.size();
  if (again && !is_back) [[unlikely]] {
    trip = restore();
    params += s.consts.count;
  } else {
    set_roots(params, roots, plan, s.consts);
    params += s.consts.count;
    trip = start_carries(s.native, s.carries, is_back, roots, params, results);
  }
  for (; trip < s.length; ++trip) {
    if (stood == kBefore && s.native.code && trip > 0 && steps_left_ >= s.length - trip &&
        !went_back(s.native, roots)) {
      // Code may have come meanwhile: it takes the loop over, with carries where it would have left them.
      if (const NativeNest* code = s.native.code->ready(); code && code->can_run_trips()) [[unlikely]] {
        keep(s.native, plan, s.carries, roots, params, trip);
        for (std::size_t k = 0; k < carries; ++k)
          copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
        const NativeEnd end = native_loop(*code, s, plan, roots, trip);
        if (end != NativeEnd::Outside) return end == NativeEnd::Done;
        trip = start_carries(s.native, s.carries, true, roots, params, results);
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
Executor::NativeEnd Executor::native_loop(const NativeNest& code, const WhileStep& s, const Plan& plan,
                                          std::byte** roots, bool is_first) {
  std::byte* bases[NativeLoop::kMaxBases];
  set_roots(bases, roots, plan, s.native.bases);
  std::byte** carries = bases + s.cond_consts.count + s.body_consts.count;
  std::int64_t step = trips_between_looks(s.native, limits_.pause.has_value());
  const std::int64_t steps = steps_left_;
  for (;; is_first = false) {
    if (!is_first)
      for (std::size_t k = 0; k < s.carries.size(); ++k) carries[k] = carries[s.carries.size() + k];
    if (!poll()) return leave({is_first ? kCarriesAtFirst : kCarriesWereMoved}), NativeEnd::Left;
    // What is outside has no meaning, and need not come to an end.
    const bool looks = watched_ || s.native.outside_bytes > 0;
    std::int64_t most = looks ? std::min(steps_left_ + 1, step) : steps_left_ + 1;
    for (std::size_t k = 0; k < s.tapes.size(); ++k) {
      std::int64_t records = 0;
      if (!(carries[2 * s.carries.size() + k] = tape_at(at(roots, s.tapes[k].place))->room(records)))
        return fail(Code::Memory), NativeEnd::Left;
      most = std::min(most, records);
    }
    std::int64_t left = most;
    bases[s.native.bases.count] = reinterpret_cast<std::byte*>(&left);
    const auto begin = watched_ ? RunLimits::Time::clock::now() : RunLimits::Time();
    code.run(bases);
    if (is_outside(s.native, bases)) [[unlikely]] {
      steps_left_ = steps;  // what was made since then is made again
      return NativeEnd::Outside;
    }
    for (const TapeRow& r : s.tapes) tape_at(at(roots, r.place))->wrote(most - left);
    steps_left_ -= most - left - (left == 0);
    if (left > 0) return NativeEnd::Done;
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
  const std::byte* goes_on = at(roots, s.predicate);
  const std::size_t carries = s.carries.size();
  std::int64_t to_result = 1, stood = kBefore;
  bool is_back = false;  // from machine code that was outside
  const bool again = rewinding();
  if (again) [[unlikely]]
    stood = restore();
  if (!again)
    for (const TapeRow& t : s.tapes) set_tape(at(roots, t.place), tapes_.make(t.bytes));
  if (const NativeNest* code = s.native.code ? s.native.code->ready() : nullptr; code && (!again || stood < 0)) {
    if (!again) keep(s.native, plan, s.carries, roots, nullptr, 0);
    const NativeEnd end = native_loop(*code, s, plan, roots, !again || stood == kCarriesAtFirst);
    if (end != NativeEnd::Outside) return end == NativeEnd::Done;
    is_back = true;
    stood = kBefore;
  }
  if (again && !is_back) {
    to_result = restore();
  } else {
    roots_of(cond_frame)[cond.first_result()] = at(roots, s.predicate);
    set_roots(params, roots, plan, s.body_consts);
    set_roots(seen, roots, plan, s.cond_consts);
    start_carries(s.native, s.carries, is_back, roots, params + s.body_consts.count, results);
  }
  params += s.body_consts.count;
  seen += s.cond_consts.count;
  for (;; to_result = !to_result) {
    if (stood == kBefore) {
      if (s.native.code && !went_back(s.native, roots)) {
        s.native.code->ran(s.native.work);
        if (const NativeNest* code = s.native.code->ready()) [[unlikely]] {  // it takes over
          keep(s.native, plan, s.carries, roots, params, 0);
          for (std::size_t k = 0; k < carries; ++k)
            copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
          const NativeEnd end = native_loop(*code, s, plan, roots, false);
          if (end != NativeEnd::Outside) return end == NativeEnd::Done;
          start_carries(s.native, s.carries, true, roots, params, results);
        }
      }
      for (std::size_t k = 0; k < carries; ++k) seen[k] = params[k];
      if (!poll()) return leave({to_result, kBefore});
    }
    if (stood != kWithinBody) {
      if (!run(cond, cond_frame)) return leave({to_result, kWithin});
      if (*goes_on == std::byte{0}) break;
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
