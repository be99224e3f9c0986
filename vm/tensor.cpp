#include "vm/tensor.h"

#include <cstring>

#include <fmt/format.h>

namespace tfvm {

Result<Tensor> Tensor::make(const BudgetRef& budget, DType dtype, Dims dims) {
  const auto elements = checked_elements(dims);
  if (!elements || *elements > (std::int64_t{1} << 62) / size_of(dtype))
    return Error(Code::Type, fmt::format("the size of {} overflows", tfvm::type_text(dtype, dims)));
  const std::int64_t bytes = *elements * size_of(dtype);
  Tensor t;
  t.storage_ = StorageRef::allocate(budget, bytes);
  if (!t.storage_)
    return Error(Code::Memory,
                 fmt::format("{} bytes for {} can't be allocated ({} of {} in use)", bytes,
                             tfvm::type_text(dtype, dims), budget ? budget->used() : 0, budget ? budget->limit() : 0));
  t.data_ = t.storage_->data();
  t.dtype_ = dtype;
  t.layout_ = row_major(dims);
  return t;
}

Result<Tensor> Tensor::make(const BudgetRef& budget, DType dtype, Dims dims, std::span<const std::byte> bytes) {
  Result<Tensor> t = make(budget, dtype, dims);
  if (t && !bytes.empty()) std::memcpy(t->data_, bytes.data(), bytes.size());
  return t;
}

Tensor Tensor::over(void* data, DType dtype, Layout layout, StorageRef storage) {
  Tensor t;
  t.storage_ = std::move(storage);
  t.data_ = static_cast<std::byte*>(data);
  t.dtype_ = dtype;
  t.layout_ = std::move(layout);
  return t;
}

Tensor Tensor::with_layout(Layout layout) const {
  Tensor t = over(data_, dtype_, std::move(layout), storage_);
  t.saved_ = saved_;
  return t;
}

Tensor Tensor::saved() const {
  Tensor t = *this;
  if (t.saved_ == 0) t.saved_ = mark();
  return t;
}

Result<Tensor> Tensor::contiguous(const BudgetRef& budget) const {
  if (is_row_major()) return *this;
  return clone(budget);
}

Result<Tensor> Tensor::clone(const BudgetRef& budget) const {
  Result<Tensor> t = make(budget, dtype_, layout_.dims);
  if (t) copy_elements(t->layout_, t->data_, layout_, data_, size_of(dtype_));
  return t;
}

void Tensor::copy_to(std::span<std::byte> out) const {
  copy_elements(row_major(layout_.dims), out.data(), layout_, data_, size_of(dtype_));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.layout().dims != b.layout().dims) return false;
  std::vector<std::byte> x(static_cast<std::size_t>(a.bytes())), y(x.size());
  a.copy_to(x);
  b.copy_to(y);
  return x == y;
}

}  // namespace tfvm
