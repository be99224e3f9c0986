#include "vm/storage_pool.h"

#include <algorithm>

namespace tfvm {

StoragePool::Bucket& StoragePool::bucket(std::int64_t capacity) {
  const auto at = std::ranges::lower_bound(buckets_, capacity, {}, &Bucket::capacity);
  if (at != buckets_.end() && at->capacity == capacity) return *at;
  return *buckets_.insert(at, Bucket{capacity, {}});
}

// Null where memory is refused.
StorageRef StoragePool::add(Bucket& b, std::int64_t bytes) {
  StorageRef made = StorageRef::allocate(budget_, bytes);
  if (!made) {
    release_free();
    made = StorageRef::allocate(budget_, bytes);
  }
  if (!made || bytes_ + b.capacity > kMostBytes) return made;
  b.storages.push_back(made);
  b.storages.back().set_pooled(true);
  bytes_ += b.capacity;
  return made;
}

StorageRef StoragePool::take(std::int64_t bytes) {
  constexpr std::size_t kLong = 64;
  Bucket& b = bucket(align_up(std::max<std::int64_t>(bytes, 1)));
  const std::size_t n = b.storages.size();
  for (std::size_t tried = 0; tried < n; ++tried) {
    StorageRef& s = b.storages[b.next];
    b.next = b.next + 1 == n ? 0 : b.next + 1;
    if (!s.is_free()) continue;
    s.resize(bytes);
    StorageRef found = s;
    if (tried >= kLong) add(b, bytes);  // so few are free that one more saves looking
    return found;
  }
  return add(b, bytes);
}

Result<Tensor> StoragePool::make(DType dtype, Dims dims) {
  const auto elements = checked_elements(dims);
  if (elements && *elements <= (std::int64_t{1} << 62) / size_of(dtype))
    if (StorageRef s = take(*elements * size_of(dtype))) {
      std::byte* data = s->data();
      return Tensor::over(data, dtype, row_major(dims), std::move(s));
    }
  return Tensor::make(budget_, dtype, dims);  // which says what is wrong
}

Result<Tensor> StoragePool::clone(const Tensor& t) {
  Result<Tensor> copy = make(t.dtype(), t.dims());
  if (copy) copy_elements(copy->layout(), copy->base(), t.layout(), t.base(), size_of(t.dtype()));
  return copy;
}

void StoragePool::clear() {
  for (Bucket& b : buckets_)
    for (StorageRef& s : b.storages) s.set_pooled(false);
  buckets_.clear();
  bytes_ = 0;
}

void StoragePool::release_free() {
  for (Bucket& b : buckets_) {
    bytes_ -= b.capacity *
              static_cast<std::int64_t>(std::erase_if(b.storages, [](const StorageRef& s) { return s.is_free(); }));
    b.next = 0;
  }
}

}  // namespace tfvm
