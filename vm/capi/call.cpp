// Calls. The way through tfvm_call that succeeds is a few compares, copies of pointers, and the run of the plan.
#include "vm/capi/call.h"

#include <cstring>

namespace {

using namespace tfvm;
using namespace tfvm::capi;

// Outputs that overlap inputs are written when the call has succeeded.
[[gnu::cold]] tfvm_status call_through_copies(tfvm_context& c, const tfvm_function& f, void* const* outputs,
                                              std::byte** roots, tfvm_error* error) {
  return guarded(error, [&]() -> tfvm_status {
    std::vector<Tensor> fresh;
    std::byte** out = roots + f.globals.size() + f.inputs.size();
    for (const capi::Slot& s : f.outputs) {
      Result<Tensor> t = Tensor::make(c.context.budget(), s.dtype, s.dims);
      if (!t) return fail(error, t.error(), *c.vm);
      *out++ = t->data();
      fresh.push_back(*std::move(t));
    }
    if (c.context.run_open(*f.function.plan) != RunEnd::Done) return failed(c, c.context.error(), error);
    for (std::size_t k = 0; k < fresh.size(); ++k)
      if (f.outputs[k].bytes > 0) std::memcpy(outputs[k], fresh[k].data(), f.outputs[k].bytes);
    return TFVM_OK;
  });
}

}  // namespace

extern "C" {

[[gnu::aligned(64)]] tfvm_status tfvm_call(tfvm_context* c, const tfvm_function* f, const void* const* inputs, size_t input_count,
                      void* const* outputs, size_t output_count, tfvm_error* error) noexcept {
  if (!fits(c, f, inputs, input_count, outputs, output_count)) [[unlikely]]
    return bad_call(c, f, input_count, output_count, error);
  if (f->function.on_tensors) [[unlikely]]
    return call_on_tensors(*c, *f, inputs, outputs, error);
  const Plan& plan = *f->function.plan;
  std::byte** roots = c->context.open(plan);
  if (!roots) [[unlikely]]
    return guarded(error, [&]() -> tfvm_status { return failed(*c, c->context.error(), error); });
  if (const tfvm_status s = set_pointers(*f, roots, inputs, outputs, error); s != TFVM_OK) [[unlikely]]
    return s;
  set_deadline(*c);
  if (const Overlap o = overlap(*f, roots); o != Overlap::None) [[unlikely]] {
    if (o == Overlap::Outputs) return misuse(error, "outputs overlap each other");
    return call_through_copies(*c, *f, outputs, roots, error);
  }
  return run_plan(*c, plan, error);
}

}  // extern "C"
