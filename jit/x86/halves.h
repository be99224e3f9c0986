#pragma once
// Nests over f16 and bf16 as nests over f32: lanes hold such values as f32, as the block interpreter does, and only
// loads, stores and roundings know the 16-bit format.

#include "bytecode/status.h"
#include "jit/region/block_op.h"
#include "jit/region/nest.h"

namespace tfvm::x86 {

bool has_halves(const Nest& nest);

// A cast of f32 to f32 with this in `bits` rounds to that dtype's values; of no half: 0.
constexpr std::uint64_t rounds_to(DType d) { return d == DType::F16 ? 1 : d == DType::BF16 ? 2 : 0; }

// The same elements by nodes of f32 (and of all other dtypes), each result rounded as its own dtype asks. Accesses keep
// their dtypes, so that those of loads and stores may differ from their nodes' now. Unsupported: halves that are only
// copied, bit for bit, and what is computed in the 16 bits themselves.
Result<Nest> with_halves_as_floats(const Nest& nest);

}  // namespace tfvm::x86
