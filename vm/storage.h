#pragma once
// Memory that tensors stand in: reference counted, 64-byte aligned, counted against one budget per VM. Nothing here
// throws; an allocation that the budget or the system refuses gives a null reference.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "vm/spares.h"

namespace tfvm {

inline constexpr std::int64_t kAlignment = 64;

constexpr std::int64_t align_up(std::int64_t n, std::int64_t to = kAlignment) { return (n + to - 1) / to * to; }

// The host's memory, in place of malloc's: `allocate` gives null where it refuses. From any thread.
struct Allocator {
  void* (*allocate)(void* user, std::size_t bytes, std::size_t alignment) = nullptr;
  void (*release)(void* user, void* memory, std::size_t bytes, std::size_t alignment) = nullptr;
  void* user = nullptr;
};

// Bytes in use and their limit. Thread safe; shared by all storages made under it, which may outlive the VM. Large
// memory from the system is kept for the next who asks, as far as the limit leaves room for it.
class Budget {
 public:
  explicit Budget(std::int64_t limit = std::numeric_limits<std::int64_t>::max(), Allocator allocator = {})
      : limit_(limit), allocator_(allocator) {}
  // `bytes` aligned to kAlignment, counted; null where they would pass the limit or the allocator refuses.
  void* allocate(std::int64_t bytes) noexcept;
  void release(void* memory, std::int64_t bytes) noexcept;
  bool take(std::int64_t bytes) noexcept;  // false, and nothing taken, where it would pass the limit
  void give(std::int64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::int64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::int64_t spare() const noexcept { return spares_.bytes(); }  // kept, not in use
  std::int64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  std::int64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::int64_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  void* from_spares(std::int64_t bytes) noexcept;
  std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::int64_t> limit_;
  const Allocator allocator_;
  Spares spares_;
};
using BudgetRef = std::shared_ptr<Budget>;

class Storage {
 public:
  std::byte* data() const noexcept { return data_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  // Memory of a VM, not borrowed.
  bool is_own() const noexcept;
  // Changes with each write that a program does as written; `by` is the place of the last (WriteSites). Writes from
  // several threads at a time count as at least one.
  std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  std::uint32_t written_by() const noexcept { return written_by_.load(std::memory_order_relaxed); }
  void written(std::uint32_t by) const noexcept {
    version_.store(version() + 1, std::memory_order_relaxed);
    written_by_.store(by, std::memory_order_relaxed);
  }

 private:
  friend class StorageRef;
  Storage() = default;
  void unref() noexcept;
  std::atomic<std::int32_t> refs_{1};
  std::atomic<bool> pooled_{false};  // one reference is that of a StoragePool
  mutable std::atomic<std::uint32_t> version_{0}, written_by_{0};
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  BudgetRef budget_;                  // of own memory
  void (*release_)(void*) = nullptr;  // of borrowed memory: called with user_ by the last reference
  void* user_ = nullptr;
};

class StorageRef {
 public:
  StorageRef() = default;
  // Uninitialised memory of at least one byte; null where the budget or the system refuses.
  static StorageRef allocate(const BudgetRef& budget, std::int64_t bytes) noexcept;
  // The caller's memory, which must live until `release(user)` is called (forever where release is null).
  static StorageRef borrow(void* data, std::int64_t bytes, void (*release)(void*) = nullptr,
                           void* user = nullptr) noexcept;
  StorageRef(const StorageRef& o) noexcept : s_(o.s_) {
    if (s_) s_->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  StorageRef(StorageRef&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
  StorageRef& operator=(StorageRef o) noexcept {
    std::swap(s_, o.s_);
    return *this;
  }
  ~StorageRef() {
    if (s_) s_->unref();
  }
  explicit operator bool() const noexcept { return s_ != nullptr; }
  const Storage* operator->() const noexcept { return s_; }
  // Does nothing refer to it but this, and the pool that it may be of?
  bool unique() const noexcept {
    return s_ && s_->refs_.load(std::memory_order_acquire) == 1 + s_->pooled_.load(std::memory_order_relaxed);
  }

 private:
  friend class StoragePool;
  bool is_free() const noexcept { return s_->refs_.load(std::memory_order_acquire) == 1; }  // of the pool's reference
  void set_pooled(bool pooled) noexcept { s_->pooled_.store(pooled, std::memory_order_relaxed); }
  void resize(std::int64_t bytes) noexcept { s_->bytes_ = bytes; }
  Storage* s_ = nullptr;
};

}  // namespace tfvm
