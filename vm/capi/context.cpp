// Contexts: memory, job system, limits.
#include "vm/capi/handles.h"

namespace {

using namespace tfvm;
using capi::guarded;
using capi::misuse;

void print(void* user, std::string_view label, const Tensor& t) {
  const auto& c = *static_cast<tfvm_context*>(user);
  tfvm_view v = TFVM_VIEW;
  capi::fill_view(v, t.dtype(), t.layout().dims, t.layout().strides.data(), t.data());
  c.print(c.print_user, std::string(label).c_str(), &v);
}

tfvm_status apply(tfvm_context& c, const tfvm_context_options& o, tfvm_error* error) {
  if (o.arena && !c.context.use_arena(o.arena, static_cast<std::int64_t>(o.arena_bytes))) throw std::bad_alloc();
  if (o.executor) {
    const auto e = capi::read_struct(o.executor);
    if (!e || !e->run || e->width == 0) return misuse(error, "the executor's size, function or width is not set");
    c.executor = *e;
    c.context.jobs = {e->run, e->user, e->width};
  }
  if (o.print) {
    c.print = o.print;
    c.print_user = o.print_user;
    c.context.sink = {&print, &c};
  }
  return TFVM_OK;
}

}  // namespace

extern "C" {

tfvm_status tfvm_context_create(tfvm_vm* vm, const tfvm_context_options* options, tfvm_context** context,
                                tfvm_error* error) noexcept {
  if (!vm || !context) return misuse(error, "a VM and a place for the context are needed");
  return guarded(error, [&]() -> tfvm_status {
    auto c = std::make_unique<tfvm_context>(vm->vm);
    c->context.limits.cancel = &c->cancel;
    if (options) {
      const auto o = capi::read_struct(options);
      if (!o) return misuse(error, "the size of the options is not set");
      if (const tfvm_status s = apply(*c, *o, error); s != TFVM_OK) return s;
    }
    *context = c.release();
    return TFVM_OK;
  });
}

void tfvm_context_release(tfvm_context* context) noexcept { delete context; }

tfvm_status tfvm_set_limits(tfvm_context* context, int64_t steps, int64_t microseconds) noexcept {
  if (!context || context->paused || steps < 0 || microseconds < 0) return TFVM_MISUSE;
  context->context.limits.steps = steps > 0 ? steps : std::numeric_limits<std::int64_t>::max();
  context->microseconds = microseconds;
  return TFVM_OK;
}

void tfvm_cancel(tfvm_context* context) noexcept {
  if (context) context->cancel.store(true, std::memory_order_relaxed);
}

}  // extern "C"
