// The caller's pointers: what is wrong with them, and tensors over them.
#include <algorithm>

#include <fmt/format.h>

#include "vm/capi/call.h"

namespace tfvm::capi {

tfvm_status bad_pointer(tfvm_error* error, const char* what, std::size_t k, const void* p) {
  return guarded(error, [&]() -> tfvm_status {
    return misuse(error, fmt::format("{} {} is {}", what, k, p ? "not aligned for its dtype" : "NULL"));
  });
}

tfvm_status bad_call(const tfvm_context* c, const tfvm_function* f, std::size_t inputs, std::size_t outputs,
                     tfvm_error* error) {
  if (!c || !f) return misuse(error, "a context and a function are needed");
  if (c->paused) return misuse(error, "the context has a paused call: resume or abandon it first");
  if (c->vm != f->vm) return misuse(error, "the function is of another VM than the context");
  if (f->has_tapes) return misuse(error, "the function takes or gives a pack with tapes: call it with values");
  if (inputs == f->inputs.size() && outputs == f->outputs.size())
    return misuse(error, "the arrays of inputs and outputs are needed");
  return guarded(error, [&]() -> tfvm_status {
    return misuse(error, fmt::format("{} inputs and {} outputs expected, {} and {} given", f->inputs.size(),
                                     f->outputs.size(), inputs, outputs));
  });
}

tfvm_status failed(tfvm_context& c, Error e, StepOrigin at, tfvm_error* error) {
  if (e.code == Code::Cancelled) c.cancel.store(false, std::memory_order_relaxed);
  if (e.code != Code::Type) e = c.vm->located(std::move(e), at);
  return fail(error, e, *c.vm);
}

namespace {

constexpr std::size_t kMany = 4096;  // pairs of tensors that are compared one by one

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

}  // namespace

Overlap overlap_of_several(const tfvm_function& f, std::byte* const* roots) {
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

Steps& steps_of(tfvm_context& c) {
  if (!c.steps) c.steps = std::make_unique<Steps>(c.context, c.vm->write_sites());
  return *c.steps;
}

tfvm_status take_pointers(tfvm_context& c, const tfvm_function& f, const void* const* inputs, void* const* outputs,
                          bool apart, tfvm_error* error) {
  Steps& steps = steps_of(c);
  steps.reset();  // of what a call left that was refused memory before it began
  steps.roots.resize(f.globals.size() + f.inputs.size() + f.outputs.size());
  std::byte** roots = steps.roots.data();
  if (const tfvm_status s = set_pointers(f, roots, inputs, outputs, error); s != TFVM_OK) return s;
  const Overlap o = overlap(f, roots);
  if (o == Overlap::Outputs) return misuse(error, "outputs overlap each other");
  if (o == Overlap::Inputs && apart) return misuse(error, "outputs overlap inputs, which a call in slices can't have");
  std::byte** p = roots + f.globals.size();
  static std::byte nothing;  // a tensor without elements has a place all the same
  const auto add = [&](std::vector<Tensor>& to, const Slot& s) {
    to.push_back(Tensor::over(*p ? *p : &nothing, s.dtype, row_major(s.dims)));
    ++p;
  };
  for (std::int64_t g : f.function.globals) steps.run.args().push_back(c.vm->globals()[static_cast<std::size_t>(g)]);
  for (const Slot& s : f.inputs) add(steps.run.args(), s);
  for (const Slot& s : f.outputs) add(steps.out, s);
  return TFVM_OK;
}

tfvm_status write_results(tfvm_context& c, tfvm_error* error) {
  std::vector<Tensor>& results = c.steps->run.results();
  for (Tensor& t : results) {
    if (t.storage()) continue;
    Result<Tensor> copy = c.steps->run.clone(t);
    if (!copy) return fail(error, copy.error(), *c.vm);
    t = *std::move(copy);
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Tensor &t = results[k], &to = c.steps->out[k];
    copy_elements(to.layout(), to.base(), t.layout(), t.base(), size_of(t.dtype()));
  }
  return TFVM_OK;
}

tfvm_status failed_by_steps(tfvm_context& c, tfvm_error* error) {
  const EagerRun& run = c.steps->run;
  return failed(c, c.vm->located(run.error(), run.failed_at()), run.failed_at(), error);
}

}  // namespace tfvm::capi
