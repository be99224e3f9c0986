// Calls on memory that was checked before: bind, call_bound.
#include "jit/x86/native.h"
#include "vm/capi/call.h"
#include "vm/float_mode.h"

struct tfvm_bound {
  tfvm_context* context;
  const tfvm_function* function;
  const tfvm::NativeNest* code = nullptr;  // of a small function: all there is to run, on the table
  std::vector<std::byte*> table;           // globals, inputs, outputs
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

namespace {

using namespace tfvm;
using namespace tfvm::capi;

tfvm_status bind(tfvm_context& c, const tfvm_function& f, tfvm_bound& b, tfvm_error* error) {
  b.table.resize(f.globals.size() + f.inputs.size() + f.outputs.size());
  if (const tfvm_status s = set_pointers(f, b.table.data(), b.inputs.data(), b.outputs.data(), error); s != TFVM_OK)
    return s;
  if (overlap(f, b.table.data()) != Overlap::None)
    return misuse(error, "outputs overlap each other or inputs, which a bound call can't have");
  if (!f.function.on_tensors && !c.context.limits.trace) b.code = Executor::small_code(*f.function.plan);
  return TFVM_OK;
}

// Apart, for the registers that it saves would take a small call a tenth of its time.
[[gnu::noinline]] tfvm_status call_checked(const tfvm_bound* b, tfvm_error* error) {
  if (!b) return misuse(error, "a bound call is needed");
  tfvm_context& c = *b->context;
  if (!b->function->function.on_tensors && !c.paused) [[likely]] {
    const Plan& plan = *b->function->function.plan;
    if (std::byte** roots = c.context.open(plan)) [[likely]] {
      for (std::byte* p : b->table) *roots++ = p;
      set_deadline(c);
      return run_plan(c, plan, error);
    }
  }
  return tfvm_call(&c, b->function, b->inputs.data(), b->inputs.size(), b->outputs.data(), b->outputs.size(), error);
}

}  // namespace

extern "C" {

tfvm_status tfvm_bind(tfvm_context* c, const tfvm_function* f, const void* const* inputs, size_t input_count,
                      void* const* outputs, size_t output_count, tfvm_bound** bound, tfvm_error* error) noexcept {
  if (!bound) return misuse(error, "a place for the bound call is needed");
  if (!fits(c, f, inputs, input_count, outputs, output_count)) return bad_call(c, f, input_count, output_count, error);
  return guarded(error, [&]() -> tfvm_status {
    auto b = std::make_unique<tfvm_bound>();
    b->context = c;
    b->function = f;
    b->inputs.assign(inputs, inputs + input_count);
    b->outputs.assign(outputs, outputs + output_count);
    if (const tfvm_status s = bind(*c, *f, *b, error); s != TFVM_OK) return s;
    *bound = b.release();
    return TFVM_OK;
  });
}

tfvm_status tfvm_call_bound(const tfvm_bound* b, tfvm_error* error) noexcept {
  if (!b || !b->code || b->context->paused || b->context->cancel.load(std::memory_order_relaxed)) [[unlikely]]
    return call_checked(b, error);
  const FloatMode mode;
  b->code->run(b->table.data());
  return TFVM_OK;
}

void tfvm_bound_release(tfvm_bound* b) noexcept { delete b; }

}  // extern "C"
