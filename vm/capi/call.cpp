// Calls. The way through tfvm_call that succeeds is a few compares, copies of pointers, and the run of the plan.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "vm/capi/handles.h"

namespace {

using namespace tfvm;
using capi::fail;
using capi::guarded;
using capi::misuse;
using capi::Slot;
using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMany = 4096;  // pairs of tensors that are compared one by one

[[gnu::cold]] tfvm_status bad_pointer(tfvm_error* error, const char* what, std::size_t k, const void* p) {
  return guarded(error, [&]() -> tfvm_status {
    return misuse(error, fmt::format("{} {} is {}", what, k, p ? "not aligned for its dtype" : "NULL"));
  });
}

[[gnu::cold]] tfvm_status bad_call(const tfvm_context* c, const tfvm_function* f, std::size_t inputs,
                                   std::size_t outputs, tfvm_error* error) {
  if (!c || !f) return misuse(error, "a context and a function are needed");
  if (c->paused) return misuse(error, "the context has a paused call: resume or abandon it first");
  if (c->vm != f->vm) return misuse(error, "the function is of another VM than the context");
  if (f->has_tapes) return misuse(error, "the function takes or gives a pack with tapes: call it with values");
  return guarded(error, [&]() -> tfvm_status {
    return misuse(error, fmt::format("{} inputs and {} outputs expected, {} and {} given", f->inputs.size(),
                                     f->outputs.size(), inputs, outputs));
  });
}

// The call failed: its error, with the program's line.
[[gnu::cold]] tfvm_status failed(tfvm_context& c, Error e, tfvm_error* error) {
  if (e.code == Code::Cancelled) c.cancel.store(false, std::memory_order_relaxed);
  if (e.code != Code::Type) e = c.vm->located(std::move(e), c.context.failed_at());
  return fail(error, e, *c.vm);
}

void set_deadline(tfvm_context& c) {
  auto& deadline = c.context.limits.deadline;
  if (c.microseconds > 0)
    deadline = steady_clock::now() + microseconds(c.microseconds);
  else
    deadline.reset();
}

bool apart(const std::byte* a, std::size_t n, const std::byte* b, std::size_t m) { return a + n <= b || b + m <= a; }

// Writes the pointers that the caller gave behind those of the globals. OK, or why not.
tfvm_status set_pointers(const tfvm_function& f, std::byte** roots, const void* const* inputs, void* const* outputs,
                         tfvm_error* error) {
  roots = std::copy(f.globals.begin(), f.globals.end(), roots);
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

enum class Overlap : std::uint8_t { None, Inputs, Outputs };

// Memory of a call, to be sorted by place.
struct Piece {
  const std::byte* begin;
  std::size_t bytes;
  bool output;
};

Overlap overlap_of_many(const tfvm_function& f, std::byte* const* roots) {
  std::vector<Piece> all;
  const std::byte* const* p = roots + f.globals.size();
  for (const Slot& s : f.inputs) all.push_back({*p++, s.bytes, false});
  for (const Slot& s : f.outputs) all.push_back({*p++, s.bytes, true});
  std::erase_if(all, [](const Piece& x) { return x.bytes == 0; });
  std::ranges::sort(all, {}, &Piece::begin);
  Overlap found = Overlap::None;
  const std::byte *end = nullptr, *output_end = nullptr;  // of what begins before
  for (const Piece& x : all) {
    if (x.output && x.begin < output_end) return Overlap::Outputs;
    if (x.begin < (x.output ? end : output_end)) found = Overlap::Inputs;
    end = std::max(end, x.begin + x.bytes);
    if (x.output) output_end = std::max(output_end, x.begin + x.bytes);
  }
  return found;
}

Overlap overlap(const tfvm_function& f, std::byte* const* roots) {
  const std::byte* const* in = roots + f.globals.size();
  const std::byte* const* out = in + f.inputs.size();
  if (f.outputs.size() * (f.inputs.size() + f.outputs.size()) > kMany) return overlap_of_many(f, roots);
  Overlap found = Overlap::None;
  for (std::size_t k = 0; k < f.outputs.size(); ++k) {
    for (std::size_t i = 0; i < f.inputs.size(); ++i)
      if (!apart(out[k], f.outputs[k].bytes, in[i], f.inputs[i].bytes)) [[unlikely]]
        found = Overlap::Inputs;
    for (std::size_t j = 0; j < k; ++j)
      if (!apart(out[k], f.outputs[k].bytes, out[j], f.outputs[j].bytes)) [[unlikely]]
        return Overlap::Outputs;
  }
  return found;
}

// Outputs that overlap inputs are written when the call has succeeded.
[[gnu::cold]] tfvm_status call_through_copies(tfvm_context& c, const tfvm_function& f, void* const* outputs,
                                              std::byte** roots, tfvm_error* error) {
  return guarded(error, [&]() -> tfvm_status {
    std::vector<Tensor> fresh;
    std::byte** out = roots + f.globals.size() + f.inputs.size();
    for (const Slot& s : f.outputs) {
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

Status check(std::span<const Tensor> tensors, const std::vector<Slot>& slots, std::string_view what) {
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].dtype() != slots[k].dtype || tensors[k].layout().dims != slots[k].dims)
      return Error(Code::Type, fmt::format("{} {} must be {}, not {}", what, k,
                                           type_text(slots[k].dtype, slots[k].dims), tensors[k].type_text()));
  return ok();
}

// Functions that write or have custom ops run on tensors, step by step. Results that are the caller's memory are saved
// before any output is written.
tfvm_status run_by_steps(tfvm_context& c, const tfvm_function& f, std::span<const Tensor> in,
                         std::span<const Tensor> out, tfvm_error* error) {
  Result<std::vector<Tensor>> results = c.vm->call(c.context, f.function, in);
  if (!results) return failed(c, std::move(results).error(), error);
  for (Tensor& t : *results) {
    if (t.storage()) continue;
    Result<Tensor> copy = t.clone(c.context.budget());
    if (!copy) return fail(error, copy.error(), *c.vm);
    t = *std::move(copy);
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Tensor& t = (*results)[k];
    copy_elements(out[k].layout(), out[k].base(), t.layout(), t.base(), size_of(t.dtype()));
  }
  return TFVM_OK;
}

[[gnu::cold]] tfvm_status call_by_steps(tfvm_context& c, const tfvm_function& f, const void* const* inputs,
                                        void* const* outputs, tfvm_error* error) {
  return guarded(error, [&]() -> tfvm_status {
    std::vector<std::byte*> roots(f.globals.size() + f.inputs.size() + f.outputs.size());
    if (const tfvm_status s = set_pointers(f, roots.data(), inputs, outputs, error); s != TFVM_OK) return s;
    if (overlap(f, roots.data()) == Overlap::Outputs) return misuse(error, "outputs overlap each other");
    std::vector<Tensor> in, out;
    std::byte** p = roots.data() + f.globals.size();
    static std::byte nothing;  // a tensor without elements has a place all the same
    const auto add = [&](std::vector<Tensor>& to, const Slot& s) {
      to.push_back(Tensor::over(*p ? *p : &nothing, s.dtype, row_major(s.dims)));
      ++p;
    };
    for (const Slot& s : f.inputs) add(in, s);
    for (const Slot& s : f.outputs) add(out, s);
    set_deadline(c);
    return run_by_steps(c, f, in, out, error);
  });
}

bool fits(const tfvm_context* c, const tfvm_function* f, std::size_t inputs, std::size_t outputs) {
  return c && f && !c->paused && c->vm == f->vm && inputs == f->inputs.size() && outputs == f->outputs.size() &&
         !f->has_tapes;
}

// After a run in slices: the context is free again, unless there is more to do.
tfvm_status ended(tfvm_context& c, const tfvm_function& f, RunEnd end, tfvm_error* error) {
  c.paused = end == RunEnd::Paused ? &f : nullptr;
  if (end == RunEnd::Paused) return TFVM_PAUSED;
  c.context.limits.pause.reset();
  if (end == RunEnd::Done) return TFVM_OK;
  return guarded(error, [&]() -> tfvm_status { return failed(c, c.context.error(), error); });
}

}  // namespace

extern "C" {

tfvm_status tfvm_call(tfvm_context* c, const tfvm_function* f, const void* const* inputs, size_t input_count,
                      void* const* outputs, size_t output_count, tfvm_error* error) noexcept {
  if (!fits(c, f, input_count, output_count)) [[unlikely]]
    return bad_call(c, f, input_count, output_count, error);
  if (!f->function.plan) [[unlikely]]
    return call_by_steps(*c, *f, inputs, outputs, error);
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
  if (c->context.run_open(plan) == RunEnd::Done) [[likely]]
    return TFVM_OK;
  return guarded(error, [&]() -> tfvm_status { return failed(*c, c->context.error(), error); });
}

tfvm_status tfvm_run_for(tfvm_context* c, const tfvm_function* f, const void* const* inputs, size_t input_count,
                         void* const* outputs, size_t output_count, int64_t us, tfvm_error* error) noexcept {
  if (!fits(c, f, input_count, output_count)) return bad_call(c, f, input_count, output_count, error);
  if (us < 0) return misuse(error, "a negative time");
  if (!f->function.plan)
    return fail(error, TFVM_UNSUPPORTED, "a function that writes, or has custom ops, can't run in slices");
  return guarded(error, [&]() -> tfvm_status {
    const Plan& plan = *f->function.plan;
    std::byte** roots = c->context.open(plan);
    if (!roots) return failed(*c, c->context.error(), error);
    if (const tfvm_status s = set_pointers(*f, roots, inputs, outputs, error); s != TFVM_OK) return s;
    if (overlap(*f, roots) != Overlap::None)
      return misuse(error, "outputs overlap each other or inputs, which a call in slices can't have");
    set_deadline(*c);
    c->context.limits.pause = steady_clock::now() + microseconds(us);
    return ended(*c, *f, c->context.run_open(plan), error);
  });
}

tfvm_status tfvm_resume(tfvm_context* c, int64_t us, tfvm_error* error) noexcept {
  if (!c || !c->paused) return misuse(error, "the context has no paused call");
  if (us < 0) return misuse(error, "a negative time");
  c->context.limits.pause = steady_clock::now() + microseconds(us);
  const tfvm_function& f = *c->paused;
  return ended(*c, f, c->context.resume(*f.function.plan), error);
}

void tfvm_abandon(tfvm_context* c) noexcept {
  if (!c || !c->paused) return;
  c->context.abandon();
  c->context.limits.pause.reset();
  c->paused = nullptr;
}

tfvm_status tfvm_call_views(tfvm_context* c, const tfvm_function* f, const tfvm_view* inputs, size_t input_count,
                            const tfvm_view* outputs, size_t output_count, tfvm_error* error) noexcept {
  if (!fits(c, f, input_count, output_count)) return bad_call(c, f, input_count, output_count, error);
  if ((input_count > 0 && !inputs) || (output_count > 0 && !outputs)) return misuse(error, "views are needed");
  return guarded(error, [&]() -> tfvm_status {
    std::vector<Tensor> in, out;
    const auto add = [&](std::vector<Tensor>& to, const tfvm_view* views, std::size_t count) -> Status {
      for (std::size_t k = 0; k < count; ++k) {
        Result<Tensor> t = capi::tensor_over(*capi::view_at(views, k));
        if (!t) return std::move(t).error();
        to.push_back(*std::move(t));
      }
      return ok();
    };
    const bool by_steps = !f->function.plan;
    for (std::int64_t g : f->function.globals)
      if (!by_steps) in.push_back(c->vm->globals()[static_cast<std::size_t>(g)]);
    if (Status s = add(in, inputs, input_count); !s) return fail(error, s.error(), *c->vm);
    if (Status s = add(out, outputs, output_count); !s) return fail(error, s.error(), *c->vm);
    set_deadline(*c);
    if (by_steps) {
      if (const Status s = check(in, f->inputs, "input"); !s) return fail(error, s.error(), *c->vm);
      if (const Status s = check(out, f->outputs, "output"); !s) return fail(error, s.error(), *c->vm);
      return run_by_steps(*c, *f, in, out, error);
    }
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
    for (Value& v : *out) {
      made.push_back(std::make_unique<tfvm_value>());
      made.back()->vm = c->vm;
      made.back()->pack = !c->vm->is_tensor(v.type);
      made.back()->value = std::move(v);
    }
    for (std::size_t k = 0; k < made.size(); ++k) outputs[k] = made[k].release();
    return TFVM_OK;
  });
}

}  // extern "C"
