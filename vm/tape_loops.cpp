// Loops over tapes.
#include <algorithm>

#include "bytecode/consts.h"
#include "vm/executor.h"
#include "vm/run_steps.h"

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

}  // namespace

bool Executor::loop(const TapeScanStep& s, const Plan& plan, std::byte** roots) {
  const std::int64_t n = trips_of(s, roots);
  const bool again = rewinding();
  std::int64_t trip = 0;
  bool within = false;
  if (again) {
    within = restore();
    trip = restore();
  }
  const std::byte* zeros = nullptr;
  std::int64_t largest = 0;
  for (const TapeRow& r : s.inputs)
    if (records(roots, r) < n) largest = std::max(largest, r.bytes);
  if (largest > 0 && !(zeros = tapes_.zeros(largest))) return fail(Code::Memory);
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
    set_roots(params, roots, plan, s.consts);
    for (std::size_t k = 0; k < carries; ++k) start_carry(s.carries[k], roots, params[s.consts.count + k], results[k]);
  }
  params += s.consts.count;
  for (; trip < n; ++trip) {
    const std::int64_t i = s.reverse ? n - 1 - trip : trip;
    const bool to_result = (n - 1 - trip) % 2 == 0;
    for (std::size_t k = 0; k < carries && !within; ++k)
      if (s.carries[k].kind == LoopCarry::Kind::Alternate)
        results[k] = at(roots, to_result ? s.carries[k].result : s.carries[k].temp);
    for (std::size_t k = 0; k < s.inputs.size(); ++k) {
      const Tape* t = tape_at(at(roots, s.inputs[k].place));
      params[carries + k] = t && i < t->size() ? t->at(i) : const_cast<std::byte*>(zeros);  // parameters are only read
    }
    for (std::size_t k = 0; k < s.outputs.size(); ++k)
      results[carries + k] = tape_at(at(roots, s.outputs[k].place))->at(i);
    if (!within && !poll()) return leave({trip, 0});
    if (!run(body, frame)) return leave({trip, 1});
    within = false;
    for (std::size_t k = 0; k < carries; ++k) params[k] = results[k];
  }
  for (std::size_t k = 0; k < carries; ++k) copy_bytes(at(roots, s.carries[k].result), params[k], s.carries[k].bytes);
  return true;
}

}  // namespace tfvm
