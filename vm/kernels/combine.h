#pragma once
// What a scatter does with an element that it meets.

#include <cstddef>
#include <cstdint>

#include "bytecode/dtype.h"

namespace tfvm {

enum class Combine : std::uint8_t { Set, Add, Mul, Min, Max };

inline constexpr std::int64_t kOutside = -1;  // a place that is none

// to[k * to_step] = combine(to[k * to_step], from[k * from_step]) for k < n, in this order. `from` is no part of `to`.
// With `places` it is to[places[k] * to_step], where that is not kOutside.
using CombineRow = void (*)(Combine combine, std::byte* to, std::int64_t to_step, const std::byte* from,
                            std::int64_t from_step, std::int64_t n, const std::int64_t* places);
CombineRow combine_row(DType d);  // of a dtype that isn't complex

}  // namespace tfvm
