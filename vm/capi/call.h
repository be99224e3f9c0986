#pragma once
// What the entry points of calls share: checks of handles, and of the caller's pointers.

#include <chrono>
#include <optional>

#include "vm/capi/handles.h"

namespace tfvm::capi {

// May the function be called so in the context? Else bad_call says why not.
inline bool fits(const tfvm_context* c, const tfvm_function* f, const void* in, std::size_t inputs, const void* out,
                 std::size_t outputs) {
  return c && f && !c->paused && c->vm == f->vm && inputs == f->inputs.size() && outputs == f->outputs.size() &&
         (in || inputs == 0) && (out || outputs == 0) && !f->has_tapes;
}
[[gnu::cold]] tfvm_status bad_call(const tfvm_context* c, const tfvm_function* f, std::size_t inputs,
                                   std::size_t outputs, tfvm_error* error);
[[gnu::cold]] tfvm_status bad_pointer(tfvm_error* error, const char* what, std::size_t k, const void* p);
// The call failed: its error, with the program's line, which is that of the step `at`.
[[gnu::cold]] tfvm_status failed(tfvm_context& c, Error e, StepOrigin at, tfvm_error* error);
[[gnu::cold]] inline tfvm_status failed(tfvm_context& c, Error e, tfvm_error* error) {
  return failed(c, std::move(e), c.context.failed_at(), error);
}

// Of a call that begins now.
inline void set_deadline(tfvm_context& c) {
  auto& deadline = c.context.limits.deadline;
  deadline.reset();
  if (c.microseconds > 0) [[unlikely]]
    deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(c.microseconds);
}

// Writes the pointers that the caller gave behind those of the globals. OK, or why not.
inline tfvm_status set_pointers(const tfvm_function& f, std::byte** roots, const void* const* inputs,
                                void* const* outputs, tfvm_error* error) {
  for (std::byte* g : f.globals) *roots++ = g;
  for (std::size_t k = 0; k < f.inputs.size(); ++k) {
    const Slot& s = f.inputs[k];
    const void* p = inputs[k];
    if ((reinterpret_cast<std::uintptr_t>(p) & s.misaligned) != 0 || (!p && s.bytes > 0)) [[unlikely]]
      return bad_pointer(error, "input", k, p);
    *roots++ = static_cast<std::byte*>(const_cast<void*>(p));  // parameters are only read
  }
  for (std::size_t k = 0; k < f.outputs.size(); ++k) {
    const Slot& s = f.outputs[k];
    void* p = outputs[k];
    if ((reinterpret_cast<std::uintptr_t>(p) & s.misaligned) != 0 || (!p && s.bytes > 0)) [[unlikely]]
      return bad_pointer(error, "output", k, p);
    *roots++ = static_cast<std::byte*>(p);
  }
  return TFVM_OK;
}

inline bool apart(const std::byte* a, std::size_t n, const std::byte* b, std::size_t m) {
  return a + n <= b || b + m <= a;
}

enum class Overlap : std::uint8_t { None, Inputs, Outputs };
Overlap overlap_of_several(const tfvm_function& f, std::byte* const* roots);
// Of outputs with inputs, or with each other; `roots` as set_pointers has written them.
inline Overlap overlap(const tfvm_function& f, std::byte* const* roots) {
  const std::size_t inputs = f.inputs.size();
  if (f.outputs.size() != 1 || inputs > 64) return overlap_of_several(f, roots);
  const std::byte* const* in = roots + f.globals.size();
  const std::size_t bytes = f.outputs[0].bytes;
  bool found = false;
  for (std::size_t k = 0; k < inputs; ++k) found |= !apart(in[inputs], bytes, in[k], f.inputs[k].bytes);
  return found ? Overlap::Inputs : Overlap::None;
}

// Pointers are at the roots of the plan.
inline tfvm_status run_plan(tfvm_context& c, const Plan& plan, tfvm_error* error) {
  if (c.context.run_open(plan) == RunEnd::Done) [[likely]]
    return TFVM_OK;
  return guarded(error, [&]() -> tfvm_status { return failed(c, c.context.error(), error); });
}

// A function that writes, or has custom ops.
tfvm_status call_on_tensors(tfvm_context& c, const tfvm_function& f, const void* const* inputs, void* const* outputs,
                            tfvm_error* error);

// What a function that runs by steps is called with.
Steps& steps_of(tfvm_context& c);
// The caller's memory as its args and outputs; misuse where outputs overlap each other, and where they are to be
// `apart` from inputs, too.
tfvm_status take_pointers(tfvm_context& c, const tfvm_function& f, const void* const* inputs, void* const* outputs,
                          bool apart, tfvm_error* error);
// The run has ended well: its results go to the outputs. Those that are the caller's memory are saved before any is
// written.
tfvm_status write_results(tfvm_context& c, tfvm_error* error);
[[gnu::cold]] tfvm_status failed_by_steps(tfvm_context& c, tfvm_error* error);

// With a NaN trap, a call of a function that has a plan; nullopt, and nothing: outputs overlap something.
std::optional<tfvm_status> call_trapped(tfvm_context& c, const tfvm_function& f, const void* const* inputs,
                                        void* const* outputs, tfvm_error* error);
// Behind a call of the plan, whose pointers are at `roots`: fails where an output holds nan, or something was
// `flagged`.
tfvm_status check_nan(tfvm_context& c, const tfvm_function& f, std::byte* const* roots, bool flagged,
                      tfvm_error* error);

}  // namespace tfvm::capi
