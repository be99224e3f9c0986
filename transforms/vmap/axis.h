#pragma once
// The batch dim that a vmap adds, as its rules see it.

#include "bytecode/elaborate/globals.h"
#include "transforms/env.h"

namespace tfvm {

// What a draw (rng_bits) with a key that all lanes share means.
enum class Randomness : std::uint8_t {
  Error,      // it is refused
  Same,       // it is drawn once, for all lanes
  Different,  // the key of a lane is the key with the lane's number folded in
};

struct Axis {
  std::int64_t size;
  StrId name = kNone<StrId>;  // for collectives
  // Transforms of the library batch what depends on no draw, or where one draw is meant.
  Randomness randomness = Randomness::Same;
  // Only a part of all lanes: their numbers count from the value of the global `chunk_start`, which whoever calls the
  // function lifts (lift_globals).
  bool chunk = false;
};

GlobalUse chunk_start(Tables& t);

// What a function, or the functions that it calls, does with lanes even where nothing that it is given is batched.
struct LaneUse {
  bool draws = false;
  bool collectives = false;
};
LaneUse lane_use(TransformEnv& env, FunctionId f);
LaneUse lane_use(TransformEnv& env, const Instr& in);

}  // namespace tfvm
