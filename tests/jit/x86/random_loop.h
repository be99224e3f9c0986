#pragma once
// Random loops for machine code, and the memory that they run on.

#include <cstddef>
#include <random>
#include <vector>

#include "jit/x86/loop.h"
#include "random_nest.h"

namespace tfvm {

struct RandomLoop {
  LoopNest loop;
  std::vector<std::vector<std::byte>> memory;  // per base
  std::vector<DType> dtypes;                   // of what is stored there
};

RandomLoop random_loop(std::mt19937_64& rng, const RandomNestOptions& options, std::int64_t trips);
// As long as a counter is below a limit of the lane, and perhaps something else holds. Lanes that are done stay as they
// are, but where the limit is that of all lanes: then rows may come in and go out, too.
RandomLoop random_while(std::mt19937_64& rng, const RandomNestOptions& options);

}  // namespace tfvm
