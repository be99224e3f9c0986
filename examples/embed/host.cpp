#include "host.h"

#include <cstdlib>

tfvm_allocator HostAllocator::interface() { return {sizeof(tfvm_allocator), this, &allocate, &release}; }

void* HostAllocator::allocate(void* self, std::size_t bytes, std::size_t alignment) {
  auto& a = *static_cast<HostAllocator*>(self);
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!memory) return nullptr;
  ++a.allocations_;
  ++a.live_;
  return memory;
}

void HostAllocator::release(void* self, void* memory, std::size_t, std::size_t) {
  --static_cast<HostAllocator*>(self)->live_;
  std::free(memory);
}

JobSystem::JobSystem(std::size_t threads) {
  for (std::size_t k = 0; k < threads; ++k) threads_.emplace_back([this] { serve(); });
}

JobSystem::~JobSystem() {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

tfvm_executor JobSystem::interface() { return {sizeof(tfvm_executor), this, &run, threads_.size() + 1}; }

void JobSystem::work() {
  for (std::size_t k = next_++; k < count_; k = next_++) {
    job_(arg_, k);
    ++jobs_;
  }
}

void JobSystem::run(void* self, void (*job)(void*, std::size_t), void* arg, std::size_t count) {
  auto& s = *static_cast<JobSystem*>(self);
  {
    const std::lock_guard<std::mutex> guard(s.lock_);
    s.job_ = job;
    s.arg_ = arg;
    s.count_ = count;
    s.next_ = 0;
    s.busy_ = s.threads_.size();
    ++s.generation_;
  }
  s.wake_.notify_all();
  s.work();
  std::unique_lock<std::mutex> guard(s.lock_);
  s.idle_.wait(guard, [&] { return s.busy_ == 0; });
}

void JobSystem::serve() {
  std::size_t seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> guard(lock_);
      wake_.wait(guard, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    work();
    const std::lock_guard<std::mutex> guard(lock_);
    if (--busy_ == 0) idle_.notify_all();
  }
}
