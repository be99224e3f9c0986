#pragma once
// The block interpreter (tier 0) of loop nests: blocks of up to kBlock elements; load and convert, op by op over the
// block, store. A prepared nest is immutable and may be run from many threads; running allocates nothing.

#include <cstddef>
#include <memory>

#include "bytecode/status.h"
#include "jit/region/nest.h"

namespace tfvm {

inline constexpr std::int64_t kBlock = 1024;

struct NestCode;  // prepared: function pointers resolved, loops coalesced, buffers assigned
struct NestCodeDelete {
  void operator()(const NestCode*) const;
};
using NestCodePtr = std::unique_ptr<const NestCode, NestCodeDelete>;

// Unsupported: an op on a dtype that has no kernel (complex).
Result<NestCodePtr> prepare(const Nest& nest);

// Bytes of scratch that a run needs, 64-byte aligned.
std::size_t scratch_bytes(const NestCode& code);

// Runs the nest: bases[k] is the memory of base k.
void run_nest(const NestCode& code, std::byte* const* bases, std::byte* scratch);

}  // namespace tfvm
