#pragma once
// --threads N of commands that call functions.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tools/tfasm/command.h"
#include "vm/jobs.h"

namespace tfvm::tool {

void add_threads(const Command& cmd, std::size_t& threads);

// Threads that run the jobs of calls, of one call at a time.
class Threads {
 public:
  explicit Threads(std::size_t count);  // the caller's among them
  ~Threads();
  Threads(const Threads&) = delete;
  Jobs jobs();

 private:
  static void run(void* threads, void (*job)(void* arg, std::size_t k), void* arg, std::size_t count);
  void work();  // of one thread: rounds, until the end
  void take();  // what is left of this round's jobs

  void (*job_)(void* arg, std::size_t k) = nullptr;  // null: the end
  void* arg_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint32_t> round_{0}, busy_{0};
  std::vector<std::thread> threads_;
};

}  // namespace tfvm::tool
