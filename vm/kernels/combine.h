#pragma once
// What a scatter does with an element that it meets.

#include <cstddef>
#include <cstdint>

#include "bytecode/dtype.h"

namespace tfvm {

enum class Combine : std::uint8_t { Set, Add, Mul, Min, Max };

// to[k * to_step] = combine(to[k * to_step], from[k * from_step]) for k < n, in this order. `from` is no part of `to`.
using CombineRow = void (*)(Combine combine, std::byte* to, std::int64_t to_step, const std::byte* from,
                            std::int64_t from_step, std::int64_t n);
CombineRow combine_row(DType d);  // of a dtype that isn't complex

}  // namespace tfvm
