#pragma once
// Nests of single instructions, and views as accesses.

#include <optional>
#include <span>

#include "bytecode/attrs.h"
#include "bytecode/types.h"
#include "jit/region/nest.h"

namespace tfvm {

// A row-major tensor at the start of a base.
Access row_major(std::uint32_t base, DType dtype, Dims dims);

// The access of a view instruction's result, given its operand's: reshape (where the strides allow it), broadcast_to,
// transpose, slice, reverse, and the ops that change no element (clone, name, stop_gradient, optimization_barrier).
// nullopt: no view; a copy must be made (or a kernel run). `in_dims`, `out_dims`: the operand's and the result's.
std::optional<Access> view_access(const AttrTable& attrs, Op op, AttrId at, Dims in_dims, Dims out_dims,
                                  const Access& in);

// The strides of `shape` over the elements of (dims, strides), in the same row-major order; nullopt where there are
// none.
std::optional<std::vector<std::int64_t>> reshape_strides(Dims dims, std::span<const std::int64_t> strides, Dims shape);

// out = op(operands…) over dims; each operand's access has one stride per dim.
Nest elementwise_nest(Op op, DType dtype, Dims dims, std::span<const Access> operands, const Access& out);

// A copy: the same elements under other strides.
Nest copy_nest(Dims dims, const Access& in, const Access& out);

// out[i] = bits everywhere.
Nest fill_nest(Dims dims, std::uint64_t bits, const Access& out);

// out[i] = i[axis].
Nest iota_nest(Dims dims, std::int64_t axis, const Access& out);

// out = op over `axes` of in: reduce_sum … reduce_or. `out` is the access of the result, with or without kept dims:
// its strides are one per dim that is left, or one per dim of `dims` (keepdims).
Nest reduce_nest(Op op, Dims dims, std::span<const std::int64_t> axes, const Access& in, const Access& out);

// Replaces a Load of a scalar or splat by a constant: all loads of `base` become `bits`.
void substitute_constant(Nest& nest, std::uint32_t base, std::uint64_t bits);

// Replaces every base by map[base] (slots after planning).
void rebase(Nest& nest, std::span<const std::uint32_t> map);

}  // namespace tfvm
