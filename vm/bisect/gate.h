#pragma once
// Allows the first so many merges of nests, and machine code for the first so many nests and loops, of all plans made
// with it: `tfasm run --merges 11 --natives 3`.

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "vm/plan/planner.h"

namespace tfvm {

class LimitGate final : public PlanGate {
 public:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_merges = kAll, max_natives = kAll;
  std::function<void(Nest&)> on_merge, on_native;  // what tests plant

  bool may_merge() override { return merges_++ < max_merges; }
  bool may_be_native(StepOrigin at) override {
    if (static_cast<std::int64_t>(natives_.size()) < max_natives) natives_.push_back(at);
    return asked_++ < max_natives;
  }
  void merged(Nest& n) override {
    if (on_merge) on_merge(n);
  }
  void made_native(Nest& n) override {
    if (on_native) on_native(n);
  }
  std::int64_t merges() const { return merges_; }  // asked for
  std::int64_t natives() const { return asked_; }
  const std::vector<StepOrigin>& native_places() const { return natives_; }  // those that were allowed

 private:
  std::int64_t merges_ = 0, asked_ = 0;
  std::vector<StepOrigin> natives_;
};

}  // namespace tfvm
