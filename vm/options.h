#pragma once
// What a VM is made with.

#include <cstdint>
#include <limits>
#include <string>

#include "vm/cache/function_cache.h"
#include "vm/log.h"
#include "vm/plan/planner.h"
#include "vm/storage.h"
#include "vm/tiers.h"

namespace tfvm {

// Whether calls fail (Code::Assert) at the first nan, and where (vm/trap/nan_trap.h).
enum class NanTrap : std::uint8_t {
  Off,
  All,   // that an op gives or an input holds
  Live,  // of those that reach a result of the call: what a select masks may be nan
};
// TFVM_NAN_TRAP=1 | live; else Off.
NanTrap nan_trap_of_environment();
// TFVM_DEBUG_DIR; empty: none.
std::string debug_dir_of_environment();

struct VmOptions {
  std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max();  // bytes of tensors and working memory
  Allocator allocator;                                                   // of those; default: malloc's
  PlanOptions plan = plan_options_of_environment();
  TierOptions tier = tier_options_of_environment();
  // Full functions run by their functional forms, behind a runtime wrapper (vm/eager/wrapper.h), not as written.
  bool functionalize = false;
  CacheOptions cache = cache_options_of_environment();
  LogFn log = log_of_environment();                    // called under the lock of the VM
  NanTrap nan_trap = nan_trap_of_environment();        // vm/trap/nan_trap.h
  std::string debug_dir = debug_dir_of_environment();  // where each prepared function leaves its levels as files
  bool simplify = true;                                // folding, algebra and value numbering as code is built
};

}  // namespace tfvm
