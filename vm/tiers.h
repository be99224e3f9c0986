#pragma once
// Tiers: a loop nest runs in the block interpreter until there is machine code for it. Both give the same bits, so code
// is swapped in at any run.
//
//   interp  no machine code is made
//   jit     code is made with the plan, before its first run (the default: calls then neither wait nor allocate)
//   auto    code is made when a nest has done some work: by a thread of the VM, which is started with the first such
//           nest, or, with `sync`, by the run that finds it

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "jit/x86/native.h"

namespace tfvm {

enum class Tier : std::uint8_t { Interp, Jit, Auto };
std::optional<Tier> parse_tier(std::string_view name);

struct TierOptions {
  Tier tier = Tier::Jit;
  bool sync = false;
  std::optional<Isa> isa;                    // of machine code and of products; none: the best that the machine has
  std::int64_t hot = std::int64_t{1} << 19;  // auto: of the time_of a nest's runs, before it is compiled
  bool few_registers = false;                // for tests: machine code spills what it can (NestCompiler)
  std::string perf;                          // who is shown machine code, as "map,gdb" (vm/profile); empty: nobody
};
// The defaults, changed by TFVM_TIER=interp|jit|auto, TFVM_SYNC=1, TFVM_ISA=avx2, TFVM_CHAOS=few_registers, TFVM_PERF.
TierOptions tier_options_of_environment();

class TierCore;

// The machine code of one nest or loop of a plan, made once, when it is worth it.
class NativeSlot : public std::enable_shared_from_this<NativeSlot> {
 public:
  using Make = std::function<Result<NativeNest>(NestCompiler&)>;
  NativeSlot(std::shared_ptr<TierCore> core, Make make);

  const NativeNest* ready() const { return ready_.load(std::memory_order_acquire); }
  // Counts a run that was interpreted. Counts of threads that meet here may be lost.
  void ran(std::int64_t work) {
    const std::int64_t left = left_.load(std::memory_order_relaxed) - work;
    left_.store(left, std::memory_order_relaxed);
    if (left < 0) [[unlikely]]
      ask();
  }

 private:
  friend class TierCore;
  friend class Tiers;
  void ask();
  void compile();

  std::atomic<const NativeNest*> ready_{nullptr};
  std::atomic<std::int64_t> left_;
  std::shared_ptr<TierCore> core_;
  Make make_;
  std::optional<NativeNest> code_;
  std::shared_ptr<NativeSlot> next_;  // in the queue
  bool asked_ = false;                // under the lock of the core
};

// Of one VM. Ends its thread when it goes; slots may outlive it.
class Tiers {
 public:
  // `notice` is told once, by whoever asks for a slot, that the system lets no machine code run.
  using Notice = std::function<void(const std::string& message)>;
  explicit Tiers(const TierOptions& options, Notice notice = {});
  ~Tiers();
  Tiers(const Tiers&) = delete;

  // Null where no code is ever made. Asked for by one thread at a time.
  std::shared_ptr<NativeSlot> slot(NativeSlot::Make make);
  const TierOptions& options() const;
  // Whether anybody looks at the labels that code is compiled with.
  bool has_listener() const;
  NestCompiler& compiler();
  // From now on no code is made: what has none stays interpreted.
  void seal();
  // Returns when nothing waits for code.
  void wait();

 private:
  bool is_refused();

  std::shared_ptr<TierCore> core_;
  Notice notice_;  // empty when it has been given
};

}  // namespace tfvm
