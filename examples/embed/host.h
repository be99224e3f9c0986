#pragma once
// What a game has anyway, and lends to tfvm: an allocator and a job system.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include <tfvm.h>

// Counts what is allocated; a game would have its heaps here.
class HostAllocator {
 public:
  tfvm_allocator interface();
  long allocations() const { return allocations_.load(); }
  long live() const { return live_.load(); }

 private:
  static void* allocate(void* self, std::size_t bytes, std::size_t alignment);
  static void release(void* self, void* memory, std::size_t bytes, std::size_t alignment);
  std::atomic<long> allocations_{0}, live_{0};
};

// Threads that wait for batches of jobs; the caller works along.
class JobSystem {
 public:
  explicit JobSystem(std::size_t threads);
  ~JobSystem();
  tfvm_executor interface();
  long jobs() const { return jobs_.load(); }

 private:
  static void run(void* self, void (*job)(void* arg, std::size_t k), void* arg, std::size_t count);
  void work();   // jobs of the present batch, until there are none left
  void serve();  // a thread
  std::mutex lock_;
  std::condition_variable wake_, idle_;
  void (*job_)(void*, std::size_t) = nullptr;
  void* arg_ = nullptr;
  std::size_t count_ = 0, generation_ = 0, busy_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<long> jobs_{0};
  bool stop_ = false;
  std::vector<std::thread> threads_;
};
