#pragma once
// Which instructions of a plan share a loop nest, and which values go through memory and why: `tfasm explain fusion`,
// TFVM_LOG=fusion.

#include <span>
#include <string>
#include <vector>

#include "vm/plan/updates.h"

namespace tfvm {

// Fills in plan.fusion; `before`: the items before fusion; `items`: as they become steps; `epilogues`: of them
// (epilogues.h).
void note_fusion(const PlanParts& parts, const std::vector<FuseItem>& before, const std::vector<FuseItem>& items,
                 std::span<const std::uint8_t> epilogues, const FuseOptions& options, Plan& plan);

struct FusionEntry {
  struct Part {
    std::string op;
    Loc loc;
  };
  bool missed = false;
  std::vector<Part> parts;
  std::int64_t bytes = 0;
  std::string why;
};

// Of a plan and all it calls, each plan once.
std::vector<FusionEntry> fusion_of(const Tables& t, const Plan& plan);

// "group: sin line 3, mul line 4; writes 4000 bytes",
// "group: dot_general line 3, add line 4; writes 4000 bytes": the add is run on the product's blocks,
// "missed: sub line 4, reduce_sum line 5: their loops differ; 4000 bytes go through memory"
std::string text(const FusionEntry& e);

}  // namespace tfvm
