#pragma once
// A tensor at run time: a layout over shared storage. Copying one copies no elements; views share the storage.

#include <span>
#include <string>
#include <vector>

#include "bytecode/dtype.h"
#include "bytecode/status.h"
#include "bytecode/types.h"
#include "vm/layout.h"
#include "vm/storage.h"

namespace tfvm {

class Tensor {
 public:
  Tensor() = default;  // no tensor; only assignment and `operator bool` are defined on it
  // Row-major and uninitialised. Code::Memory where the budget (null: none) or the system refuses, Code::Type where the
  // size overflows.
  static Result<Tensor> make(const BudgetRef& budget, DType dtype, Dims dims);
  // Row-major with these elements: bytes.size() is that of the tensor.
  static Result<Tensor> make(const BudgetRef& budget, DType dtype, Dims dims, std::span<const std::byte> bytes);
  // The caller's memory, not copied: `layout` relative to `data`, which is aligned for the dtype and outlives every
  // view unless `storage` says how it is kept.
  static Tensor over(void* data, DType dtype, Layout layout, StorageRef storage = {});

  explicit operator bool() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  Dims dims() const { return layout_.dims; }
  const Layout& layout() const { return layout_; }
  std::int64_t rank() const { return layout_.rank(); }
  std::int64_t elements() const { return layout_.elements(); }
  std::int64_t bytes() const { return elements() * size_of(dtype_); }
  bool is_row_major() const { return layout_.is_row_major(); }
  std::byte* base() const { return data_; }                                     // what the layout is relative to
  std::byte* data() const { return data_ + layout_.offset * size_of(dtype_); }  // the first element
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  const StorageRef& storage() const { return storage_; }
  // Itself, with the version that its storage has now (or had when it was saved): what a pack keeps of its inputs.
  Tensor saved() const;
  bool is_stale() const { return saved_ != 0 && saved_ != mark(); }  // saved, and written into since
  std::string type_text() const { return tfvm::type_text(dtype_, layout_.dims); }

  Tensor with_layout(Layout layout) const;
  // Itself where it is row-major, else a copy.
  Result<Tensor> contiguous(const BudgetRef& budget) const;
  Result<Tensor> clone(const BudgetRef& budget) const;
  // Elements in row-major order; `out.size()` is bytes().
  void copy_to(std::span<std::byte> out) const;

 private:
  StorageRef storage_;
  std::byte* data_ = nullptr;
  DType dtype_ = DType::F32;
  std::uint32_t saved_ = 0;  // mark() when it was saved
  Layout layout_;
  std::uint32_t mark() const { return storage_ ? storage_->version() | kSaved : kSaved; }
  static constexpr std::uint32_t kSaved = 1u << 31;
};

// Equal dtype, dims and bits.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace tfvm
