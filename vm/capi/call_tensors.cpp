// Calls of functions that run on tensors, and on views and values.
#include <fmt/format.h>

#include "vm/capi/call.h"

namespace {

using namespace tfvm;
using namespace tfvm::capi;

Status check(std::span<const Tensor> tensors, const std::vector<capi::Slot>& slots, std::string_view what) {
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].dtype() != slots[k].dtype || tensors[k].layout().dims != slots[k].dims)
      return Error(Code::Type, fmt::format("{} {} must be {}, not {}", what, k,
                                           type_text(slots[k].dtype, slots[k].dims), tensors[k].type_text()));
  return ok();
}

// Functions that write or have custom ops run on tensors, step by step: `take` makes the args and outputs.
template <class Take>
tfvm_status call_by_steps(tfvm_context& c, const tfvm_function& f, tfvm_error* error, Take take) {
  Steps& steps = steps_of(c);
  const struct Ended {
    Steps& steps;
    ~Ended() { steps.reset(); }
  } ended{steps};
  if (const tfvm_status s = take(steps); s != TFVM_OK) return s;
  set_deadline(c);
  if (f.function.wrapper || f.function.is_trapped) {
    auto results = c.vm->call(c.context, f.function, std::span(steps.run.args()).subspan(f.function.globals.size()));
    if (!results) return failed(c, std::move(results).error(), error);
    steps.run.results() = *std::move(results);
    return write_results(c, error);
  }
  steps.run.use_globals(c.vm->globals());
  if (steps.run.start(*f.function.eager) == RunEnd::Failed) return failed_by_steps(c, error);
  return write_results(c, error);
}

}  // namespace

namespace tfvm::capi {

tfvm_status call_on_tensors(tfvm_context& c, const tfvm_function& f, const void* const* inputs, void* const* outputs,
                            tfvm_error* error) {
  return guarded(error, [&] {
    if (f.function.flagged)
      if (const auto s = call_trapped(c, f, inputs, outputs, error)) return *s;
    return call_by_steps(c, f, error, [&](Steps&) { return take_pointers(c, f, inputs, outputs, false, error); });
  });
}

}  // namespace tfvm::capi

extern "C" {

tfvm_status tfvm_call_views(tfvm_context* c, const tfvm_function* f, const tfvm_view* inputs, size_t input_count,
                            const tfvm_view* outputs, size_t output_count, tfvm_error* error) noexcept {
  if (!fits(c, f, inputs, input_count, outputs, output_count)) return bad_call(c, f, input_count, output_count, error);
  return guarded(error, [&]() -> tfvm_status {
    const auto add = [](std::vector<Tensor>& to, const tfvm_view* views, std::size_t count) -> Status {
      for (std::size_t k = 0; k < count; ++k) {
        Result<Tensor> t = tensor_over(*view_at(views, k));
        if (!t) return std::move(t).error();
        to.push_back(*std::move(t));
      }
      return ok();
    };
    const auto take = [&](std::vector<Tensor>& in, std::vector<Tensor>& out) -> tfvm_status {
      for (std::int64_t g : f->function.globals) in.push_back(c->vm->globals()[static_cast<std::size_t>(g)]);
      if (Status s = add(in, inputs, input_count); !s) return fail(error, s.error(), *c->vm);
      if (Status s = add(out, outputs, output_count); !s) return fail(error, s.error(), *c->vm);
      if (!f->function.on_tensors) return TFVM_OK;
      if (const Status s = check(std::span(in).subspan(f->function.globals.size()), f->inputs, "input"); !s)
        return fail(error, s.error(), *c->vm);
      if (const Status s = check(out, f->outputs, "output"); !s) return fail(error, s.error(), *c->vm);
      return TFVM_OK;
    };
    if (f->function.on_tensors)
      return call_by_steps(*c, *f, error, [&](Steps& steps) { return take(steps.run.args(), steps.out); });
    std::vector<Tensor> in, out;
    if (const tfvm_status s = take(in, out); s != TFVM_OK) return s;
    set_deadline(*c);
    const Status s = c->context.call(*f->function.plan, in, out);
    return s ? TFVM_OK : failed(*c, s.error(), error);
  });
}

tfvm_status tfvm_call_values(tfvm_context* c, const tfvm_function* f, tfvm_value* const* inputs, size_t input_count,
                             tfvm_value** outputs, size_t output_count, tfvm_error* error) noexcept {
  if (!c || !f || c->paused || c->vm != f->vm) return bad_call(c, f, input_count, output_count, error);
  if ((input_count > 0 && !inputs) || (output_count > 0 && !outputs)) return misuse(error, "values are needed");
  if (output_count != f->function.results.size()) return misuse(error, "a wrong count of outputs");
  return guarded(error, [&]() -> tfvm_status {
    std::vector<Value> in;
    for (std::size_t k = 0; k < input_count; ++k) {
      if (!inputs[k]) return misuse(error, "an input is NULL");
      if (inputs[k]->vm != c->vm) return misuse(error, "an input is of another VM");
      in.push_back(inputs[k]->value);
    }
    set_deadline(*c);
    Result<std::vector<Value>> out = c->vm->call(c->context, f->function, in);
    if (!out) return failed(*c, out.error(), error);
    std::vector<std::unique_ptr<tfvm_value>> made;
    for (std::size_t k = 0; k < out->size(); ++k) {
      made.push_back(std::make_unique<tfvm_value>());
      made.back()->vm = c->vm;
      made.back()->pack = f->function.packs[k] != 0;
      made.back()->value = std::move((*out)[k]);
    }
    for (std::size_t k = 0; k < made.size(); ++k) outputs[k] = made[k].release();
    return TFVM_OK;
  });
}

}  // extern "C"
