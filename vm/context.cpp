#include "vm/context.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/float_mode.h"

namespace tfvm {

namespace {

Status check(std::span<const Tensor> tensors, std::span<const ValueType> types, std::string_view what) {
  if (tensors.size() != types.size())
    return Error(Code::Type, fmt::format("{} {}s expected, {} given", types.size(), what, tensors.size()));
  for (std::size_t k = 0; k < types.size(); ++k) {
    const Tensor& t = tensors[k];
    if (!t || t.dtype() != types[k].dtype || t.layout().dims != types[k].dims)
      return Error(Code::Type, fmt::format("{} {} must be {}, not {}", what, k,
                                           type_text(types[k].dtype, types[k].dims), t ? t.type_text() : "nothing"));
  }
  return ok();
}

struct Range {
  const std::byte *begin, *end;
};

Range memory(const Tensor& t) {
  const Extent e = extent(t.layout());
  return {t.base() + e.begin * size_of(t.dtype()), t.base() + e.end * size_of(t.dtype())};
}

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

bool is_aligned(const Tensor& t) {
  const std::int64_t size = std::min<std::int64_t>(size_of(t.dtype()), 8);
  return reinterpret_cast<std::uintptr_t>(t.data()) % static_cast<std::uintptr_t>(size) == 0;
}

// The tensor, which points to tapes, as their owner.
Tensor with_tapes(const Tensor& t, const std::shared_ptr<Tapes>& tapes) {
  struct Owner {
    Tensor tensor;
    std::shared_ptr<Tapes> tapes;
  };
  const auto release = [](void* owner) { delete static_cast<Owner*>(owner); };
  StorageRef storage = StorageRef::borrow(t.data(), t.bytes(), release, new Owner{t, tapes});
  return Tensor::over(t.data(), t.dtype(), t.layout(), std::move(storage));
}

bool is_plain(const Tensor& t) { return t.is_row_major() && is_aligned(t); }

// Is result k a whole parameter, and `t` the memory of that input? Then nothing is written.
bool is_input(const Plan& plan, std::size_t k, const Tensor& t, std::span<const Tensor> inputs) {
  return std::ranges::any_of(plan.result_copies, [&](const ResultCopy& c) {
    return c.result == k && is_plain(inputs[c.param]) && inputs[c.param].data() == t.data();
  });
}

bool is_as(const Tensor& t, const ValueType& type) {
  return t && t.dtype() == type.dtype && t.layout().dims == type.dims && is_plain(t);
}

// May result k be written to `t` as the inputs stand? It shares no memory with them, or is the very one that the only
// step, which can't fail, reads element for element where it writes.
bool is_apart(const Plan& plan, std::size_t k, const Tensor& t, std::span<const Tensor> inputs) {
  const Range own = memory(t);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!overlap(own, memory(inputs[i]))) continue;
    const bool in_place = plan.steps.size() == 1 && plan.steps[0].kind == StepKind::Nest && is_plain(inputs[i]) &&
                          inputs[i].data() == t.data() &&
                          may_share(plan, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(k));
    if (!in_place) return false;
  }
  return true;
}

// Can all memory be used as it is? That results overlap what is only passed on is left to the slower way.
bool is_ready(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  if (inputs.size() != plan.params.size() || outputs.size() != plan.results.size()) return false;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (!is_as(inputs[k], plan.params[k])) return false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!is_as(outputs[k], plan.results[k])) return false;
    const std::byte *begin = outputs[k].data(), *end = begin + plan.results[k].bytes;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (begin < inputs[i].data() + plan.params[i].bytes && inputs[i].data() < end) return false;
  }
  return true;
}

}  // namespace

bool Context::use_arena(void* memory, std::int64_t bytes) {
  if (paused_) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const std::int64_t skip = align_up(static_cast<std::int64_t>(at)) - static_cast<std::int64_t>(at);
  slab_ = StorageRef::borrow(static_cast<std::byte*>(memory) + skip, std::max<std::int64_t>(bytes - skip, 0));
  is_arena_ = bool(slab_);
  return is_arena_;
}

Result<Tensor> Context::make(DType dtype, Dims dims) const {
  return pool ? pool->make(dtype, dims) : Tensor::make(budget_, dtype, dims);
}

RunEnd Context::resume(const Plan& plan) {
  const FloatMode mode;
  return ended(plan, executor_.resume(plan, slab_->data()));
}

RunEnd Context::ended(const Plan& plan, RunEnd end) {
  paused_ = end == RunEnd::Paused;
  if (end == RunEnd::Failed) failed_at_ = executor_.origin();
  if (plan.gives_tapes && end == RunEnd::Done) escaped_ = std::make_shared<Tapes>(executor_.take_tapes());
  return end;
}

void Context::abandon() {
  executor_.abandon();
  copies_.clear(), delayed_.clear();
  paused_ = false;
}

Error Context::error() const {
  if (early_) return *early_;
  if (refused_ == 0) return executor_.error();
  if (is_arena_)
    return Error(Code::Memory,
                 fmt::format("{} bytes of working memory are needed, the arena has {}", refused_, slab_->bytes()));
  return Error(Code::Memory, fmt::format("{} bytes of working memory can't be allocated ({} of {} in use)", refused_,
                                         budget_ ? budget_->used() : 0, budget_ ? budget_->limit() : 0));
}

Status Context::run(const Plan& plan, std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) {
  std::byte** roots = open(plan);
  if (!roots) return error();
  std::copy(outputs.begin(), outputs.end(), std::copy(inputs.begin(), inputs.end(), roots));
  if (run_open(plan) == RunEnd::Done) return ok();
  return error();
}

RunEnd Context::refuse(Error e) {
  early_ = std::move(e);
  failed_at_ = {};
  return RunEnd::Failed;
}

RunEnd Context::begin(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  copies_.clear(), delayed_.clear();
  if (is_ready(plan, inputs, outputs)) [[likely]] {
    std::byte** roots = open(plan);
    if (!roots) return RunEnd::Failed;
    for (const Tensor& t : inputs) *roots++ = t.data();
    for (const Tensor& t : outputs) *roots++ = t.data();
    return run_open(plan);
  }
  early_.reset();
  if (Status s = check(inputs, plan.params, "input"); !s) return refuse(std::move(s).error());
  if (Status s = check(outputs, plan.results, "output"); !s) return refuse(std::move(s).error());
  in_.clear(), out_.clear();
  for (const Tensor& t : inputs) {
    if (is_plain(t)) {
      in_.push_back(t.data());
      continue;
    }
    Result<Tensor> copy = clone(t);
    if (!copy) return refuse(std::move(copy).error());
    in_.push_back(copy->data());
    copies_.push_back(*std::move(copy));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& t = outputs[k];
    if (is_plain(t) && (is_input(plan, k, t, inputs) || is_apart(plan, k, t, inputs))) {
      out_.push_back(t.data());
      continue;
    }
    Result<Tensor> fresh = make(t.dtype(), t.dims());
    if (!fresh) return refuse(std::move(fresh).error());
    out_.push_back(fresh->data());
    delayed_.push_back({t, *std::move(fresh)});
  }
  std::byte** roots = open(plan);
  if (!roots) return RunEnd::Failed;
  std::copy(out_.begin(), out_.end(), std::copy(in_.begin(), in_.end(), roots));
  return copied(run_open(plan));
}

RunEnd Context::go_on(const Plan& plan) { return copied(resume(plan)); }

RunEnd Context::copied(RunEnd end) {
  if (end == RunEnd::Paused) return end;
  for (const auto& [to, from] : delayed_)
    if (end == RunEnd::Done) copy_elements(to.layout(), to.base(), from.layout(), from.base(), size_of(to.dtype()));
  copies_.clear(), delayed_.clear();
  return end;
}

void Context::own_tapes(const Plan& plan, std::vector<Tensor>& outputs) {
  for (std::size_t k = 0; k < outputs.size() && plan.gives_tapes; ++k)
    if (plan.results[k].is_tape) outputs[k] = with_tapes(outputs[k], escaped_);
  escaped_.reset();
}

Status Context::call(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  if (begin(plan, inputs, outputs) == RunEnd::Done) return ok();
  return error();
}

Status Context::make_outputs(const Plan& plan, std::span<const Tensor> inputs, std::span<const std::uint8_t> kept,
                             std::vector<Tensor>& outputs) const {
  outputs.clear();
  outputs.resize(plan.results.size());
  for (const ResultCopy& c : plan.result_copies) {
    if (kept.empty() || !kept[c.result] || c.param >= inputs.size()) continue;
    const Tensor& t = inputs[c.param];
    const ValueType& type = plan.results[c.result];
    if (t && is_plain(t) && t.storage() && t.storage()->is_own() && t.dtype() == type.dtype)
      outputs[c.result] = t.saved().with_layout(Layout{type.dims, row_major(type.dims).strides, t.layout().offset});
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k]) continue;
    Result<Tensor> t = make(plan.results[k].dtype, plan.results[k].dims);
    if (!t) return std::move(t).error();
    outputs[k] = *std::move(t);
  }
  return ok();
}

Result<std::vector<Tensor>> Context::call(const Plan& plan, std::span<const Tensor> inputs,
                                          std::span<const std::uint8_t> kept) {
  std::vector<Tensor> outputs;
  if (Status made = make_outputs(plan, inputs, kept, outputs); !made) return std::move(made).error();
  if (Status s = call(plan, inputs, outputs); !s) return std::move(s).error();
  own_tapes(plan, outputs);
  return outputs;
}

}  // namespace tfvm
