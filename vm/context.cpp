#include "vm/context.h"

#include <algorithm>

#include <fmt/format.h>
#include <immintrin.h>

namespace tfvm {

namespace {

// Round to nearest, denormals kept, nothing traps; the host's mode comes back, status flags included.
class FloatMode {
 public:
  FloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatMode() { _mm_setcsr(saved_); }
  FloatMode(const FloatMode&) = delete;

 private:
  unsigned saved_;
};

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

Status Context::reserve(std::int64_t bytes) {
  if (slab_ && slab_->bytes() >= bytes) return ok();
  slab_ = {};
  slab_ = StorageRef::allocate(budget_, bytes);
  if (slab_) return ok();
  return Error(Code::Memory, fmt::format("{} bytes of working memory can't be allocated ({} of {} in use)", bytes,
                                         budget_ ? budget_->used() : 0, budget_ ? budget_->limit() : 0));
}

Status Context::run(const Plan& plan, std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) {
  if (Status s = reserve(plan.frame_bytes); !s) return s;
  auto** roots = reinterpret_cast<std::byte**>(slab_->data());
  std::copy(inputs.begin(), inputs.end(), roots + kFirstParam);
  std::copy(outputs.begin(), outputs.end(), roots + plan.first_result());
  Executor executor(limits, sink, budget_);
  const FloatMode mode;
  failed_at_ = {};
  const bool good = executor.run(plan, slab_->data());
  steps_left_ = executor.steps_left();
  if (good) {
    if (plan.gives_tapes) escaped_ = std::make_shared<Tapes>(executor.take_tapes());
    return ok();
  }
  failed_at_ = executor.origin();
  return executor.error();
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
