#pragma once
// What happens to a function between its text and its run, stage by stage. Each gives the bits of the one before, but
// for transforms, which have contracts (contracts.h).

#include <functional>

#include "transforms/env.h"
#include "vm/bisect/contracts.h"
#include "vm/bisect/gate.h"
#include "vm/tensor.h"
#include "vm/tiers.h"

namespace tfvm {

enum class Stage : std::uint8_t {
  Transforms,     // what jvp, vmap and the others made of functions
  Steps,          // instruction by instruction in the block interpreter, as built without simplification
  Functionalize,  // of a function that writes: its functional form
  Simplify,       // folding, algebra, value numbering
  Licm,
  Plan,       // as one plan: small calls inlined, values in one slab, updates in place; nests apart
  Recompute,  // large values that cost little are computed by their readers
  Fuse,       // nests are merged
  Native,     // nests and loops as machine code
};
inline constexpr Stage kLastStage = Stage::Native;
std::string_view name(Stage s);

// How far, and of the last two stages how much.
struct StageLimit {
  Stage last = kLastStage;
  std::int64_t merges = LimitGate::kAll, natives = LimitGate::kAll;
};

// Changes that tests plant.
struct StagePlants {
  std::function<FunctionId(Stage, FunctionId)> after;  // of what Functionalize, Simplify and Licm give
  std::function<void(Nest&)> on_merge, on_native;
  Contracts::Plant on_pass;  // of what passes of transforms make
};

// What a run of a stage was made of.
struct StageRun {
  std::vector<Tensor> results;
  PlanRef plan;
  std::int64_t merges = 0, natives = 0;
  std::vector<StepOrigin> native_places;
};

class StageRunner {
 public:
  StageRunner(TransformEnv& env, StagePlants plants) : env_(env), plants_(std::move(plants)) {}
  // Results of a function that writes are followed by the new values of what it writes. Inputs are not changed. Limit
  // where it takes more than `max_steps` trips and calls.
  Result<StageRun> run(FunctionId f, std::span<const Tensor> inputs, const StageLimit& limit);
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  const StagePlants& plants() const { return plants_; }
  Tables& tables() { return env_.tables; }
  TransformEnv& env() { return env_; }

 private:
  Result<FunctionId> through(FunctionId f, Stage last);
  Result<FunctionId> planted(Stage s, Result<FunctionId> made);
  Result<StageRun> by_steps(FunctionId f, std::span<const Tensor> inputs);
  TransformEnv& env_;
  StagePlants plants_;
};

// f and what it calls, built again with simplification.
Result<FunctionId> simplified(TransformEnv& env, FunctionId f);

}  // namespace tfvm
