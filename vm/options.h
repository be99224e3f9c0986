#pragma once
// What a VM is made with.

#include <cstdint>
#include <limits>

#include "vm/cache/function_cache.h"
#include "vm/log.h"
#include "vm/plan/planner.h"
#include "vm/storage.h"
#include "vm/tiers.h"

namespace tfvm {

struct VmOptions {
  std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max();  // bytes of tensors and working memory
  Allocator allocator;                                                   // of those; default: malloc's
  PlanOptions plan = plan_options_of_environment();
  TierOptions tier = tier_options_of_environment();
  // Full functions run by their functional forms, behind a runtime wrapper (vm/eager/wrapper.h), not as written.
  bool functionalize = false;
  CacheOptions cache = cache_options_of_environment();
  LogFn log = log_of_environment();  // called under the lock of the VM
};

}  // namespace tfvm
