#include "tools/tfasm/threads.h"

namespace tfvm::tool {

void add_threads(const Command& cmd, std::size_t& threads) {
  cmd.option("--threads", threads, "Threads that share large loop nests, which changes no bits; default 1")
      .between(1, 1024);
}

Threads::Threads(std::size_t count) {
  for (std::size_t k = 1; k < count; ++k) threads_.emplace_back([this] { work(); });
}

Threads::~Threads() {
  job_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& t : threads_) t.join();
}

Jobs Threads::jobs() { return threads_.empty() ? Jobs() : Jobs{&run, this, threads_.size() + 1}; }

void Threads::run(void* threads, void (*job)(void* arg, std::size_t k), void* arg, std::size_t count) {
  Threads& t = *static_cast<Threads*>(threads);
  t.job_ = job, t.arg_ = arg, t.count_ = count;
  t.next_ = 0;
  t.busy_ = static_cast<std::uint32_t>(t.threads_.size());
  t.round_.fetch_add(1);
  t.round_.notify_all();
  t.take();
  for (std::uint32_t n; (n = t.busy_) != 0;) t.busy_.wait(n);
}

void Threads::take() {
  for (std::size_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) job_(arg_, k);
}

// Rounds are counted from 0: a thread that starts late joins the first one, which waits for it.
void Threads::work() {
  for (std::uint32_t seen = 0;; ++seen) {
    round_.wait(seen);
    if (!job_) return;
    take();
    if (busy_.fetch_sub(1) == 1) busy_.notify_one();
  }
}

}  // namespace tfvm::tool
