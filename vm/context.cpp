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

}  // namespace

bool Context::use_arena(void* memory, std::int64_t bytes) {
  if (paused_) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const std::int64_t skip = align_up(static_cast<std::int64_t>(at)) - static_cast<std::int64_t>(at);
  slab_ = StorageRef::borrow(static_cast<std::byte*>(memory) + skip, std::max<std::int64_t>(bytes - skip, 0));
  is_arena_ = bool(slab_);
  return is_arena_;
}

std::byte** Context::open(const Plan& plan) {
  failed_at_ = {};
  if (!slab_ || slab_->bytes() < plan.frame_bytes) [[unlikely]] {
    refused_ = plan.frame_bytes;
    if (is_arena_) return nullptr;
    slab_ = {};
    slab_ = StorageRef::allocate(budget_, plan.frame_bytes);
    if (!slab_) return nullptr;
  }
  refused_ = 0;
  return reinterpret_cast<std::byte**>(slab_->data()) + kFirstParam;
}

RunEnd Context::run_open(const Plan& plan) {
  const FloatMode mode;
  return ended(plan, executor_.start(plan, slab_->data()));
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
  paused_ = false;
}

Error Context::error() const {
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

Status Context::call(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  if (Status s = check(inputs, plan.params, "input"); !s) return s;
  if (Status s = check(outputs, plan.results, "output"); !s) return s;
  in_.clear();
  out_.clear();
  std::vector<Tensor> copies;  // keeps them alive; empty in the common case
  for (const Tensor& t : inputs) {
    if (is_plain(t)) {
      in_.push_back(t.data());
      continue;
    }
    Result<Tensor> copy = t.clone(budget_);
    if (!copy) return std::move(copy).error();
    in_.push_back(copy->data());
    copies.push_back(*std::move(copy));
  }
  std::vector<std::pair<std::size_t, Tensor>> delayed;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& t = outputs[k];
    const Range own = memory(t);
    const bool shared = std::ranges::any_of(inputs, [&](const Tensor& i) { return overlap(own, memory(i)); });
    if (is_plain(t) && !shared) {
      out_.push_back(t.data());
      continue;
    }
    Result<Tensor> fresh = Tensor::make(budget_, t.dtype(), t.dims());
    if (!fresh) return std::move(fresh).error();
    out_.push_back(fresh->data());
    delayed.emplace_back(k, *std::move(fresh));
  }
  if (Status s = run(plan, in_, out_); !s) return s;
  for (const auto& [k, t] : delayed)
    copy_elements(outputs[k].layout(), outputs[k].base(), t.layout(), t.base(), size_of(t.dtype()));
  return ok();
}

Result<std::vector<Tensor>> Context::call(const Plan& plan, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs;
  for (const ValueType& type : plan.results) {
    Result<Tensor> t = Tensor::make(budget_, type.dtype, type.dims);
    if (!t) return std::move(t).error();
    outputs.push_back(*std::move(t));
  }
  if (Status s = call(plan, inputs, outputs); !s) return std::move(s).error();
  for (std::size_t k = 0; k < outputs.size() && plan.gives_tapes; ++k)
    if (plan.results[k].is_tape) outputs[k] = with_tapes(outputs[k], escaped_);
  escaped_.reset();
  return outputs;
}

}  // namespace tfvm
