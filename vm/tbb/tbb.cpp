#include <algorithm>
#include <atomic>
#include <cstdint>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tfvm/tbb.h>

namespace {

// In the arena that the caller is in. Never more than `width` jobs run at a time: there are so many takers of jobs.
void run(void* width, void (*job)(void* arg, size_t k), void* arg, size_t count) {
  std::atomic<size_t> next{0};
  tbb::parallel_for(
      size_t{0}, std::min(count, static_cast<size_t>(reinterpret_cast<std::uintptr_t>(width))),
      [&](size_t) {
        for (size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < count;) job(arg, k);
      },
      tbb::simple_partitioner());
}

}  // namespace

extern "C" tfvm_executor tfvm_tbb_executor(size_t width) noexcept {
  if (width == 0) width = static_cast<size_t>(tbb::info::default_concurrency());
  return {sizeof(tfvm_executor), reinterpret_cast<void*>(width), &run, width};
}
