#pragma once
// take, take_along and gather as nests: each element is loaded at the place that its indices say.

#include <optional>
#include <string_view>
#include <vector>

#include "vm/kernels/check.h"
#include "vm/plan/lower.h"

namespace tfvm {

inline bool is_lookup(Op op) { return op == Op::take || op == Op::take_along || op == Op::gather; }

struct Lookup {
  IndexVectors vectors;
  std::string_view mode;
  std::vector<std::int64_t> loops;     // extents: the result's dims
  std::vector<std::uint8_t> is_batch;  // per loop: do indices change along it?
  Access element;                      // the element at place 0
  Access table;                        // the first index of each vector
  std::vector<std::int64_t> strides;   // of x, one for each entry of a vector
  std::int64_t step = 0;               // of the indices, from entry to entry

  // Bytes that stand side by side, one after the other in the result.
  std::int64_t row_bytes() const;
};

Lookup lookup_of(const AttrTable& attrs, const Instr& in, const ItemSource& s, Dims x, Dims idx, Dims out);

// Where the first index of each vector, row-major, stands at `indices`: elements from the first of x, as i32, one for
// each point of the loops that are batch. nullopt: there are too many, or some fail or read nothing.
std::optional<std::vector<std::byte>> places_of(const Lookup& l, const std::byte* indices);

// At such places, which are in a base.
Nest known_nest(const Lookup& l, std::uint32_t places, const Access& out);

// In mode "error" what is outside reads anything: a check fails where there is any. nullopt: the indices have no lanes.
std::optional<Nest> computed_nest(const Lookup& l, const Access& out);

}  // namespace tfvm
