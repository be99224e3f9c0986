#include "vm/spares.h"

#include <cstdlib>

namespace tfvm {

namespace {

std::int64_t& size_at(void* memory) { return *static_cast<std::int64_t*>(memory); }

}  // namespace

void Spares::free(void* memory) noexcept {
  if (!memory) return;
  bytes_.fetch_sub(size_at(memory), std::memory_order_relaxed);
  std::free(memory);
}

void* Spares::take(std::int64_t bytes) noexcept {
  if (bytes < kLeast || this->bytes() == 0) return nullptr;
  for (std::atomic<void*>& place : places_) {
    void* memory = place.exchange(nullptr, std::memory_order_acq_rel);
    if (!memory) continue;
    if (size_at(memory) == bytes) {
      bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      return memory;
    }
    free(place.exchange(memory, std::memory_order_acq_rel));  // what another thread has put there since
  }
  return nullptr;
}

bool Spares::keep(void* memory, std::int64_t bytes) noexcept {
  if (bytes < kLeast || bytes > kMost) return false;
  if (this->bytes() > kMost - bytes) clear();
  size_at(memory) = bytes;
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const std::uint32_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
  free(places_[turn % places_.size()].exchange(memory, std::memory_order_acq_rel));
  return true;
}

void Spares::clear() noexcept {
  for (std::atomic<void*>& place : places_) free(place.exchange(nullptr, std::memory_order_acq_rel));
}

}  // namespace tfvm
