#pragma once
// A prepared nest: what run.cpp walks. Internal to the block interpreter.
//
// A *window* is what is evaluated at a time: up to kBlock points, consecutive in loop order: a chunk of loop `q` and
// all loops inside it. Values of f16 and bf16 are held as f32, rounded after every op.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/region/reduce.h"
#include "jit/region/run.h"

namespace tfvm {

enum class NodeRun : std::uint8_t {
  InPlace,  // the block is the memory itself
  Gather,   // elements are gathered into the buffer, then converted
  Pick,     // the same under a mask (in[0], where has_mask), at places moved by an index (the last operand)
  Fixed,    // a constant: its block is in NestCode::constants
  Iota,     // computed by place, then converted
  Op,
};

struct NodeCode {
  NodeRun kind = NodeRun::Op;
  std::uint8_t size = 4;      // bytes of an element as held
  std::uint8_t raw_size = 4;  // bytes of an element in memory
  std::uint8_t arity = 0;
  std::uint32_t in[3] = {0, 0, 0};
  std::uint32_t access = 0;        // index into NestCode::accesses
  BlockFn fn = nullptr;            // Op; Gather, Iota: the conversion to what is held, or null
  BlockFn then = nullptr;          // Op: a second step on the result: rounding in place, or from `temp` to the buffer
  bool has_mask = false;           // Pick
  bool through_temp = false;       // fn writes 16-bit elements to the temp buffer, `then` widens them
  std::size_t buffer = 0;          // offset in scratch
  std::uint32_t direct = kNoNode;  // the store whose memory is the buffer
};

// An access with its strides in the order of the prepared loops.
struct AccessCode {
  std::uint32_t base = 0;
  std::int64_t offset = 0;  // in elements
  std::uint8_t size = 4;
  DType dtype = DType::F32;  // of the elements
  bool contiguous = false;   // over a window
  std::vector<std::int64_t> strides;
};

struct StoreCode {
  std::uint32_t node = 0, access = 0;
  BlockFn convert = nullptr;  // from what is held to memory, or null
  bool is_direct = false;
};

struct ReductionCode {
  std::uint32_t node = 0, access = 0;
  std::uint8_t size = 4;  // of an element as held
  BlockFn convert = nullptr;
  ReduceFns fns;
  std::size_t state = 0;  // offset in scratch; see reduce_run.h
};

enum class NestMode : std::uint8_t {
  Scalar,   // one point
  Plain,    // no reduction
  Rows,     // the last loop is reduced: loops are kept, outer reduced, inner reduced
  Columns,  // the last loop is kept: loops are kept, reduced, inner kept
  Nothing,  // no points, and results of reductions (if any) are identities
};

struct NestCode {
  NestMode mode = NestMode::Scalar;
  std::vector<std::int64_t> extents;  // of the prepared loops
  std::vector<std::uint8_t> is_kept;  // Nothing: loops that results have
  std::uint32_t q = 0;                // the chunked loop of a window
  std::int64_t chunk = 1;             // its steps per window
  std::int64_t inside = 1;            // points of the loops inside q
  std::uint32_t kept = 0;             // Rows, Columns: how many leading loops are kept
  std::uint32_t reduced = 0;          // Columns: how many loops after these are reduced
  std::int64_t row = 1,
               rows = 1;  // Rows: points of a row and rows of a result; Columns: points of the inner loops, rows
  std::int64_t column_chunk = 1;  // Columns: points of the inner loops at a time
  std::vector<NodeCode> nodes;
  std::vector<AccessCode> accesses;
  std::vector<StoreCode> stores;
  std::vector<ReductionCode> reductions;
  std::vector<std::byte> constants;                                    // filled blocks, one per Fixed constant
  std::vector<std::pair<std::uint32_t, std::size_t>> fixed_constants;  // node, offset in constants
  std::vector<std::uint32_t> once;         // nodes with the same block in every window: evaluated before the first
  std::vector<std::uint32_t> each_window;  // the other nodes, without constants
  std::size_t offsets = 0, temp = 0, index = 0;  // in scratch: access offsets, 16-bit or i64 temp, loop counters
  std::size_t scratch = 0;
  std::int64_t block = kBlock;  // most points of a window
  std::int64_t point_cost = 0;  // of all nodes, in additions over a block

  // Of a point with its stores, in additions over a block.
  std::int64_t work() const { return point_cost + static_cast<std::int64_t>(stores.size()); }
};

inline constexpr std::size_t kMaxLevels = 64;      // of a counting tree
inline constexpr std::size_t kMaxReductions = 16;  // of one nest

}  // namespace tfvm
