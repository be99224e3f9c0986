#pragma once
// Small edits of nests, and how many points they have.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/region/nest.h"

namespace tfvm {

// The place of an access, or of a node, that is put at the end where the nest has none that gives the same: an equal
// one, one with its operands the other way round where they commute, or the square of b - a for that of a - b.
std::uint32_t add_access(Nest& n, const Access& a);
std::uint32_t add_node(Nest& n, const NestNode& node);

// The product of its extents.
std::int64_t points(const Nest& n);

// How many elements an access touches.
std::int64_t touched(const Nest& n, const Access& a);

// Whether it goes through consecutive elements as the loops go, wherever it begins.
bool is_row_major(const Nest& n, const Access& a);

// The loops of its rows, whose elements are combined in lanes (reduce_order.h): those at the end that are reduced; one
// of a single place is none. `order`: of loops, outermost first.
std::vector<std::size_t> row_of(std::span<const std::int64_t> extents, std::span<const std::uint8_t> reduced,
                                std::span<const std::size_t> order);

// Keeps the nodes that a store or a reduction needs, and their accesses.
void compact(Nest& n);

}  // namespace tfvm
