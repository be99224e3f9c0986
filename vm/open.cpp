// The part of a context that every call comes through.
#include "vm/context.h"
#include "vm/float_mode.h"

namespace tfvm {

[[gnu::aligned(64)]] std::byte** Context::open(const Plan& plan) {
  failed_at_ = {};
  early_.reset();
  if (!slab_ || slab_->bytes() < plan.frame_bytes) [[unlikely]] {
    refused_ = plan.frame_bytes;
    if (is_arena_) return nullptr;
    slab_ = {};
    slab_ = StorageRef::allocate(budget_, plan.frame_bytes);
    if (!slab_) return nullptr;
  }
  refused_ = 0;
  return reinterpret_cast<std::byte**>(slab_->data()) + kFirstParam;
}

[[gnu::aligned(64)]] RunEnd Context::run_open(const Plan& plan) {
  const FloatMode mode;
  const RunEnd end = executor_.start(plan, slab_->data());
  if (end == RunEnd::Done && !plan.gives_tapes) [[likely]] {
    paused_ = false;
    return end;
  }
  return ended(plan, end);
}

}  // namespace tfvm
