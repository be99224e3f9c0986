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
// Bytes that the prepared nest itself takes, about.
std::size_t bytes_of(const NestCode& code);

// Asked now and then, while a nest runs, whether it may go on: when the blocks evaluated since have used up `credit`
// (kBlockCredit for each addition over a block, and as much as it takes longer for other nodes), which `look` fills up
// again.
inline constexpr std::int64_t kBlockCredit = 8;
// What a window costs at most: less than a watch gives at a time, or a run that pauses whenever it may would never get
// beyond the look before a dear one.
inline constexpr std::int64_t kMostCredit = 128;
struct NestWatch {
  bool (*look)(NestWatch& self) = nullptr;
  std::int64_t credit = 0;
  bool can_resume = false;        // set by run_nest: ended here, the nest can go on later
  std::int64_t windows_done = 0;  // of a nest that was ended; not 0: run_nest goes on behind them, in the same scratch
};

// The `index`th of `count` pieces of the outermost loop; pieces may run at the same time, each with scratch of its own.
struct NestPart {
  std::int64_t index = 0, count = 1;
};
// How many pieces a nest can be cut into (1: it can't), each worth `work` additions over a block.
std::int64_t max_parts(const NestCode& code, std::int64_t work);

// Runs the nest: bases[k] is the memory of base k. False: the watch ended it, and what it writes is unspecified.
bool run_nest(const NestCode& code, std::byte* const* bases, std::byte* scratch, NestWatch* watch = nullptr,
              NestPart part = {});

}  // namespace tfvm
