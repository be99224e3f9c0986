#pragma once
// The order in which reductions combine: a function of the shape and the reduced axes alone, so every tier, vector
// width and thread count gives the same bits. Dims of extent 1 do not count.
//
// A run of reduced axes at the end of the shape is a *row* of n elements in row-major order. Its value:
//   blocks of 2048 elements; in a block lane j of 32 starts with element j and combines elements j+32, j+64, … in
//   sequence; then lanes fold in halves: lane j with j+16, then j+8, 4, 2, 1 (lanes that no element reached are left
//   out); the values of blocks combine by the counting tree below.
// The other reduced axes, in row-major order, give a sequence of m rows (of single elements where the last axis stays).
// Their values combine in groups of 64 in sequence, and the groups by the counting tree.
// Counting tree: values arrive one by one; two of equal weight are combined at once, as carries of a binary counter;
// what is left at the end is combined from the lightest to the heaviest, the heavier one first operand.

#include <cstdint>

#include "jit/region/block_op.h"

namespace tfvm {

inline constexpr std::int64_t kRowBlock = 2048;
inline constexpr std::int64_t kReduceLanes = 32;
inline constexpr std::int64_t kRowGroup = 64;

struct ReduceFns {
  // acc[i mod 32] takes v[i], for n a multiple of 32.
  void (*lanes)(void* acc, const void* v, std::int64_t n) = nullptr;
  // acc[0] = the lanes that `seen` elements reached, folded.
  void (*fold)(void* acc, std::int64_t seen) = nullptr;
  // take_rows for rows of 2 to 4 elements; null: as for other rows.
  void (*short_rows)(void* out, const void* v, std::int64_t n, std::int64_t count) = nullptr;
  // acc[j] takes v[j], v[width + j], … in sequence, `count` of them, for j < width.
  void (*columns)(void* acc, const void* v, std::int64_t width, std::int64_t count) = nullptr;
  BlockFn combine = nullptr;   // out[i] = a[i] op b[i]
  std::int64_t bytes = 0;      // of an element
  std::uint64_t identity = 0;  // bits of the value of nothing
};

// acc[(seen + i) mod 32] takes v[i]; lanes at seen + i < 32 start.
void take_lanes(const ReduceFns& f, void* acc, const void* v, std::int64_t n, std::int64_t seen);
// out[i] = the value of the row of `n` <= kRowBlock elements at v + i * n, for i < count.
void take_rows(const ReduceFns& f, void* out, const void* v, std::int64_t n, std::int64_t count);

// For reduce_sum, _prod, _max, _min, _and, _or on values of `d` (f16 and bf16: as F32). combine is null where
// undefined.
ReduceFns find_reduction(Op op, DType d);

// The op that combines two values: of reduce_sum, add, and so on.
Op combining(Op reduction);

}  // namespace tfvm
