// Calls in slices: run_for, resume, abandon.
#include <chrono>

#include "vm/capi/call.h"

namespace {

using namespace tfvm;
using namespace tfvm::capi;
using std::chrono::microseconds;
using std::chrono::steady_clock;

// The context is for another call again.
void release(tfvm_context& c) {
  if (c.steps) c.steps->reset();
  c.context.limits.pause.reset();
  c.paused = nullptr;
}

// Runs a slice. A call that has ended, in whatever way, releases its context.
template <class Run>
tfvm_status slice(tfvm_context& c, const tfvm_function& f, std::int64_t us, tfvm_error* error, Run run) {
  c.context.limits.pause = steady_clock::now() + microseconds(us);
  const tfvm_status status = guarded(error, [&]() -> tfvm_status {
    const RunEnd end = run();
    if (end == RunEnd::Paused) return TFVM_PAUSED;
    const bool by_steps = !f.function.plan;
    if (end == RunEnd::Failed) return by_steps ? failed_by_steps(c, error) : failed(c, c.context.error(), error);
    if (by_steps) return write_results(c, error);
    return f.function.flagged ? check_nan(c, f, c.context.open(*f.function.plan), false, error) : TFVM_OK;
  });
  if (status == TFVM_PAUSED)
    c.paused = &f;
  else
    release(c);
  return status;
}

tfvm_status start_plan(tfvm_context& c, const tfvm_function& f, const void* const* inputs, void* const* outputs,
                       std::int64_t us, tfvm_error* error) {
  const Plan& plan = *f.function.plan;
  std::byte** roots = c.context.open(plan);
  if (!roots) return failed(c, c.context.error(), error);
  if (const tfvm_status s = set_pointers(f, roots, inputs, outputs, error); s != TFVM_OK) return s;
  if (overlap(f, roots) != Overlap::None)
    return misuse(error, "outputs overlap each other or inputs, which a call in slices can't have");
  set_deadline(c);
  return slice(c, f, us, error, [&] { return c.context.run_open(plan); });
}

tfvm_status start_by_steps(tfvm_context& c, const tfvm_function& f, const void* const* inputs, void* const* outputs,
                           std::int64_t us, tfvm_error* error) {
  if (const tfvm_status s = take_pointers(c, f, inputs, outputs, true, error); s != TFVM_OK) {
    c.steps->reset();
    return s;
  }
  set_deadline(c);
  return slice(c, f, us, error, [&] {
    Steps& steps = *c.steps;
    steps.globals.assign(c.vm->globals().begin(), c.vm->globals().end());
    steps.run.use_globals(steps.globals);
    return steps.run.start(*f.function.eager);
  });
}

}  // namespace

extern "C" {

tfvm_status tfvm_run_for(tfvm_context* c, const tfvm_function* f, const void* const* inputs, size_t input_count,
                         void* const* outputs, size_t output_count, int64_t us, tfvm_error* error) noexcept {
  if (!fits(c, f, inputs, input_count, outputs, output_count)) return bad_call(c, f, input_count, output_count, error);
  if (us < 0) return misuse(error, "a negative time");
  return guarded(error, [&]() -> tfvm_status {
    return f->function.plan ? start_plan(*c, *f, inputs, outputs, us, error)
                            : start_by_steps(*c, *f, inputs, outputs, us, error);
  });
}

tfvm_status tfvm_resume(tfvm_context* c, int64_t us, tfvm_error* error) noexcept {
  if (!c || !c->paused) return misuse(error, "the context has no paused call");
  if (us < 0) return misuse(error, "a negative time");
  const tfvm_function& f = *c->paused;
  return slice(*c, f, us, error,
               [&] { return f.function.plan ? c->context.resume(*f.function.plan) : c->steps->run.resume(); });
}

void tfvm_abandon(tfvm_context* c) noexcept {
  if (!c || !c->paused) return;
  if (c->paused->function.plan) c->context.abandon();
  release(*c);
}

}  // extern "C"
