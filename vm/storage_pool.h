#pragma once
// Storages that one run makes, each used again when nothing else refers to it any more: what runs again and again
// allocates nothing.

#include <vector>

#include "vm/tensor.h"

namespace tfvm {

class StoragePool {
 public:
  explicit StoragePool(BudgetRef budget) : budget_(std::move(budget)) {}
  StoragePool(const StoragePool&) = delete;
  ~StoragePool() { clear(); }

  // As Tensor::make, Tensor::clone, Tensor::contiguous.
  Result<Tensor> make(DType dtype, Dims dims);
  Result<Tensor> clone(const Tensor& t);

  // Lets go of all that it holds; tensors in use keep their storages.
  void clear();
  std::int64_t bytes() const { return bytes_; }  // of the storages that it holds

 private:
  struct Bucket {  // storages of one capacity
    std::int64_t capacity;
    std::vector<StorageRef> storages;
    std::size_t next = 0;  // where a free one is looked for first
  };
  Bucket& bucket(std::int64_t capacity);
  StorageRef take(std::int64_t bytes);
  StorageRef add(Bucket& b, std::int64_t bytes);
  void release_free();

  // More than this is not kept: allocating such storages is nothing beside filling them.
  static constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
  BudgetRef budget_;
  std::vector<Bucket> buckets_;  // by capacity
  std::int64_t bytes_ = 0;
};

}  // namespace tfvm
