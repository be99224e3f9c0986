#pragma once
// Elementwise ops over blocks: the functions that the block interpreter calls.

#include <cstdint>

#include "bytecode/dtype.h"
#include "bytecode/ops/op.h"

namespace tfvm {

// out[i] = op(a[i], b[i], c[i]) for i < n. `out` may be one of the operands (of equal element size) and overlap none
// else.
using BlockFn = void (*)(void* out, const void* a, const void* b, const void* c, std::int64_t n);

// The op on operands of dtype `d` (of select: x and y); null where there is none. Blocks of f16 and bf16 hold their
// values as f32, so these dtypes are asked for as F32; only nextafter takes their 16 bits. bool is one byte, 0 or 1.
BlockFn find_block_op(Op op, DType d);

// A conversion as `cast` defines it: integers wrap; floats to integers saturate, NaN to 0; NaN to bool is true; to a
// float rounded once. f16 and bf16 are 16-bit patterns here. null for complex dtypes; casting to the same dtype copies.
BlockFn find_cast(DType from, DType to);

// In place: rounds f32 values to f16 or bf16 and back to f32.
BlockFn find_rounding(DType d);

constexpr bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }

// Whether the op of f16 or bf16 values, computed in f32, needs no rounding.
bool is_exact_in_half(Op op);

// select on elements of 1, 2, 4 or 8 bytes.
BlockFn find_select(std::int64_t element_bytes);

}  // namespace tfvm
