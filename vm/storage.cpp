#include "vm/storage.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace tfvm {

namespace {

// The counts of a storage stand in front of its data, in one allocation.
constexpr std::int64_t kHeader = align_up(static_cast<std::int64_t>(sizeof(Storage)));

void raise(std::atomic<std::int64_t>& peak, std::int64_t now) {
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < now && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

// Whole huge pages within large memory are asked for: its first use then meets one fault where it met 512. A system
// that has none, or does not want to, goes on with small ones.
void* from_system(std::size_t bytes) noexcept {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (bytes < kHugePage) return std::aligned_alloc(kAlignment, bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePage, bytes) != 0) return nullptr;
  madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

bool Budget::take(std::int64_t bytes) noexcept {
  const std::int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes > limit() - before) {
    give(bytes);
    return false;
  }
  raise(peak_, before + bytes);
  return true;
}

void* Budget::from_spares(std::int64_t bytes) noexcept {
  if (void* memory = spares_.take(bytes)) return memory;
  if (spares_.bytes() > limit() - used()) spares_.clear();
  const auto size = static_cast<std::size_t>(bytes);
  void* memory = from_system(size);
  if (memory || spares_.bytes() == 0) return memory;
  spares_.clear();
  return from_system(size);
}

void* Budget::allocate(std::int64_t bytes) noexcept {
  if (!take(bytes)) return nullptr;
  void* memory = allocator_.allocate ? allocator_.allocate(allocator_.user, static_cast<std::size_t>(bytes), kAlignment)
                                     : from_spares(bytes);
  if (!memory) give(bytes);
  return memory;
}

void Budget::release(void* memory, std::int64_t bytes) noexcept {
  if (allocator_.allocate)
    allocator_.release(allocator_.user, memory, static_cast<std::size_t>(bytes), kAlignment);
  else if (!spares_.keep(memory, bytes))
    std::free(memory);
  give(bytes);
}

StorageRef StorageRef::allocate(const BudgetRef& budget, std::int64_t bytes) noexcept {
  StorageRef ref;
  if (bytes < 0 || bytes > std::numeric_limits<std::int64_t>::max() - 4 * kHeader) return ref;
  const std::int64_t size = kHeader + align_up(std::max<std::int64_t>(bytes, 1));
  void* memory = budget ? budget->allocate(size) : from_system(static_cast<std::size_t>(size));
  if (!memory) return ref;
  ref.s_ = new (memory) Storage;
  ref.s_->data_ = static_cast<std::byte*>(memory) + kHeader;
  ref.s_->bytes_ = bytes;
  ref.s_->budget_ = budget;
  return ref;
}

StorageRef StorageRef::borrow(void* data, std::int64_t bytes, void (*release)(void*), void* user) noexcept {
  StorageRef ref;
  void* memory = std::aligned_alloc(kAlignment, static_cast<std::size_t>(kHeader));
  if (!memory) return ref;
  ref.s_ = new (memory) Storage;
  ref.s_->data_ = static_cast<std::byte*>(data);
  ref.s_->bytes_ = bytes;
  ref.s_->release_ = release;
  ref.s_->user_ = user;
  return ref;
}

static_assert(kHeader == kAlignment, "a storage costs one line beyond its data");

bool Storage::is_own() const noexcept { return data_ == reinterpret_cast<const std::byte*>(this) + kHeader; }

void Storage::unref() noexcept {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (release_) release_(user_);
  const bool own = is_own();
  const BudgetRef budget = own ? std::move(budget_) : nullptr;
  const std::int64_t size = kHeader + align_up(std::max<std::int64_t>(bytes_, 1));
  this->~Storage();
  if (budget)
    budget->release(this, size);
  else
    std::free(this);
}

}  // namespace tfvm
