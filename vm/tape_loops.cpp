// Loops over tapes.
#include <algorithm>

#include "bytecode/consts.h"
#include "vm/executor.h"
#include "vm/run_steps.h"
#include "vm/tiers.h"

namespace tfvm {

namespace {

std::int64_t records(std::byte* const* roots, const TapeRow& r) {
  const Tape* t = tape_at(at(roots, r.place));
  return t ? t->size() : 0;
}

std::int64_t trips_of(const TapeScanStep& s, std::byte* const* roots) {
  const std::int64_t n = load_int(s.trips_dtype, at(roots, s.trips));
  if (n != -1) return std::max<std::int64_t>(n, 0);
  std::int64_t longest = 0;
  for (const TapeRow& r : s.inputs) longest = std::max(longest, records(roots, r));
  return longest;
}

// How a level that is taken up again stood: before a trip, within it, before trips by machine code.
enum Inside : std::int64_t { kBefore, kWithin, kNative };

}  // namespace

// As of scan, but in pieces: records that stand side by side in all tapes.
Executor::NativeEnd Executor::native_loop(const NativeNest& code, const TapeScanStep& s, const Plan& plan,
                                          std::byte** roots, std::int64_t trip, std::int64_t trips) {
  const std::size_t consts = s.consts.count, carries = s.carries.size(), inputs = s.inputs.size();
  const std::int64_t most = watched_ ? trips_between_looks(s.native, limits_.pause.has_value()) : trips;
  std::byte* bases[NativeLoop::kMaxBases];
  for (bool is_first = true; trip < trips; is_first = false) {
    if (!is_first) {
      watch_.credit = 0;
      if (!poll()) return leave({trip, kNative}), NativeEnd::Left;
    }
    const std::int64_t i = s.reverse ? trips - 1 - trip : trip;
    std::int64_t count = std::min(most, trips - trip);
    set_roots(bases, roots, plan, s.native.bases);
    for (std::size_t k = 0; k < carries && trip > 0; ++k) bases[consts + k] = at(roots, s.carries[k].result);
    const auto records = [&](std::span<const TapeRow> rows, std::byte** base) {
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const Tape& t = *tape_at(at(roots, rows[k].place));
        count = std::min(count, t.run(i, s.reverse));
        base[k] = t.at(i);
      }
    };
    records(s.inputs, bases + consts + carries);
    records(s.outputs, bases + consts + 2 * carries + inputs);
    steps_left_ -= is_first ? count : count - 1;
    code.run_trips(bases, count);
    trip += count;
  }
  return NativeEnd::Done;
}

bool Executor::loop(const TapeScanStep& s, const Plan& plan, std::byte** roots) {
  const std::int64_t n = trips_of(s, roots);
  const bool again = rewinding();
  std::int64_t trip = 0, stood = kBefore;
  if (again) {
    stood = restore();
    trip = restore();
  }
  if (stood == kNative) return native_loop(*s.native.code->ready(), s, plan, roots, trip, n) == NativeEnd::Done;
  const std::byte* zeros = nullptr;
  std::int64_t largest = 0;
  for (const TapeRow& r : s.inputs)
    if (records(roots, r) < n) largest = std::max(largest, r.bytes);
  if (largest > 0 && !(zeros = tapes_.zeros(largest))) return fail(Code::Memory);
  // Machine code for the trips that are left.
  const auto code = [&]() -> const NativeNest* {
    if (!s.native.code || zeros || n == 0 || steps_left_ < n - trip) return nullptr;
    const NativeNest* made = s.native.code->ready();
    return made && made->can_run_trips() ? made : nullptr;
  };
  const Plan& body = *s.body;
  std::byte* frame = at(roots, s.frame);
  std::byte** params = roots_of(frame) + kFirstParam;
  std::byte** results = roots_of(frame) + body.first_result();
  const std::size_t carries = s.carries.size();
  if (!again) {
    for (const TapeRow& r : s.outputs) {
      Tape* t = n > 0 ? tapes_.make(r.bytes) : nullptr;
      if (t && !t->resize(n)) return fail(Code::Memory);
      set_tape(at(roots, r.place), t);
    }
    if (const NativeNest* native = code()) return native_loop(*native, s, plan, roots, 0, n) == NativeEnd::Done;
    if (s.native.code) s.native.code->ran(s.native.work * std::min(n, kManyTrips));
    set_roots(params, roots, plan, s.consts);
    for (std::size_t k = 0; k < carries; ++k)
      start_carry(s.carries[k], at(roots, s.carries[k].init), roots, params[s.consts.count + k], results[k]);
  }
  params += s.consts.count;
  for (; trip < n; ++trip) {
    if (const NativeNest* native = stood == kBefore && trip > 0 ? code() : nullptr) [[unlikely]] {  // it takes over
      for (std::size_t k = 0; k < carries; ++k)
        copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
      return native_loop(*native, s, plan, roots, trip, n) == NativeEnd::Done;
    }
    const std::int64_t i = s.reverse ? n - 1 - trip : trip;
    const bool to_result = (n - 1 - trip) % 2 == 0;
    for (std::size_t k = 0; k < carries && stood == kBefore; ++k)
      if (s.carries[k].kind == LoopCarry::Kind::Alternate)
        results[k] = at(roots, to_result ? s.carries[k].result : s.carries[k].temp);
    for (std::size_t k = 0; k < s.inputs.size(); ++k) {
      const Tape* t = tape_at(at(roots, s.inputs[k].place));
      params[carries + k] = t && i < t->size() ? t->at(i) : const_cast<std::byte*>(zeros);  // parameters are only read
    }
    for (std::size_t k = 0; k < s.outputs.size(); ++k)
      results[carries + k] = tape_at(at(roots, s.outputs[k].place))->at(i);
    if (stood == kBefore && !poll()) return leave({trip, kBefore});
    if (!run(body, frame)) return leave({trip, kWithin});
    stood = kBefore;
    for (std::size_t k = 0; k < carries; ++k) params[k] = results[k];
  }
  for (std::size_t k = 0; k < carries; ++k) copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
  return true;
}

}  // namespace tfvm
