#pragma once
// Complex values in nests: an element is two elements of its parts' dtype, so an op on complex values is a nest of ops
// on their parts, with a store for each part.

#include <optional>
#include <span>

#include "bytecode/types.h"
#include "jit/region/nest.h"

namespace tfvm {

// c64 -> f32, c128 -> f64.
constexpr DType part_of(DType d) { return d == DType::C64 ? DType::F32 : DType::F64; }

// The real (0) or imaginary (1) parts of what a complex access reaches.
Access part_access(const Access& a, int part);

// out = op(operands…) over dims, as elementwise_nest, where an operand or the result is complex: clone, cast, select,
// eq, ne, neg, conj, add, sub, mul, div, zmul, square, reciprocal, abs, sign, exp, log, sqrt, pow, sin, cos, tan, sinh,
// cosh, tanh, isnan, isinf, isfinite. nullopt for others. Products and quotients are those of the textbook (Smith
// 1962), no case is made of infinite parts.
std::optional<Nest> complex_nest(Op op, Dims dims, std::span<const Access> operands, const Access& out);

// reduce_sum of complex elements: parts by themselves, each in the order of real ones. `out` as in reduce_nest.
Nest complex_sum_nest(Dims dims, std::span<const std::int64_t> axes, const Access& in, const Access& out);

}  // namespace tfvm
