// Calls with a NaN trap, on the caller's memory.
#include "vm/capi/call.h"
#include "vm/trap/nan_trap.h"

namespace tfvm::capi {

tfvm_status check_nan(tfvm_context& c, const tfvm_function& f, std::byte* const* roots, bool flagged,
                      tfvm_error* error) {
  const Plan& plan = *f.function.plan;
  std::byte* const* out = roots + plan.params.size();
  for (std::size_t k = 0; k < f.outputs.size() && !flagged; ++k) {
    const Slot& s = f.outputs[k];
    flagged = has_nan(s.dtype, out[k], static_cast<std::int64_t>(s.bytes) / size_of(s.dtype));
  }
  if (!flagged) return TFVM_OK;
  std::vector<Tensor> in;
  for (const ValueType& p : plan.params) in.push_back(Tensor::over(*roots++, p.dtype, row_major(p.dims)));
  const Status s = c.vm->name_nan(c.context, f.function, std::move(in));
  return s ? TFVM_OK : failed(c, s.error(), {}, error);
}

std::optional<tfvm_status> call_trapped(tfvm_context& c, const tfvm_function& f, const void* const* inputs,
                                        void* const* outputs, tfvm_error* error) {
  const Plan& plan = *f.function.flagged;
  std::byte** roots = c.context.open(plan);
  if (!roots) return failed(c, c.context.error(), error);
  if (const tfvm_status s = set_pointers(f, roots, inputs, outputs, error); s != TFVM_OK) return s;
  if (overlap(f, roots) != Overlap::None) return std::nullopt;
  std::int32_t flag = 0;
  if (plan.results.size() > f.outputs.size())
    roots[plan.params.size() + f.outputs.size()] = reinterpret_cast<std::byte*>(&flag);
  set_deadline(c);
  if (c.context.run_open(plan) == RunEnd::Done) return check_nan(c, f, roots, flag != 0, error);
  const Error e = c.context.error();
  const StepOrigin at = c.context.failed_at();
  if (!may_come_of_nan(e.code)) return failed(c, e, at, error);
  const tfvm_status found = check_nan(c, f, roots, true, error);
  return found != TFVM_OK ? found : failed(c, e, at, error);
}

}  // namespace tfvm::capi
