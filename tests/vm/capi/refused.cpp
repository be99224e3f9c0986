#include "tests/vm/capi/refused.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

thread_local long g_left = -1;
thread_local bool g_refused = false;
std::atomic<long> g_live{0};

bool refuse() {
  if (g_left < 0) return false;
  if (g_left > 0) return --g_left, false;
  return g_refused = true;
}

void* allocate(std::size_t n) {
  void* p = refuse() ? nullptr : std::malloc(n ? n : 1);
  if (!p) throw std::bad_alloc();
  g_live.fetch_add(1, std::memory_order_relaxed);
  return p;
}

void release(void* p) {
  if (p) g_live.fetch_sub(1, std::memory_order_relaxed);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t n) { return allocate(n); }
void* operator new[](std::size_t n) { return allocate(n); }
// The library's own calls the one above; that of the address sanitizer does not.
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  try {
    return allocate(n);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return operator new(n, std::nothrow); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }

namespace tfvm::testing {

bool refuse_after(long count) {
  g_left = count;
  return std::exchange(g_refused, false);
}

long live_allocations() { return g_live.load(); }

tfvm_allocator refusing_allocator() {
  const auto take = [](void*, std::size_t bytes, std::size_t alignment) -> void* {
    if (refuse()) return nullptr;
    g_live.fetch_add(1, std::memory_order_relaxed);
    return std::aligned_alloc(alignment, bytes);
  };
  const auto give_back = [](void*, void* p, std::size_t, std::size_t) { release(p); };
  return {sizeof(tfvm_allocator), nullptr, take, give_back};
}

}  // namespace tfvm::testing
