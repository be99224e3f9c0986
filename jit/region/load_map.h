#pragma once
// Where a nest that loads a value is, in the loops of the nest that makes it.

#include <optional>

#include "jit/region/nest.h"

namespace tfvm {

// The loops of a load in those of the value: i_v = offset_v + sum over l of strides[l][v] * i_l.
struct LoadMap {
  std::vector<std::int64_t> offset;
  std::vector<std::vector<std::int64_t>> strides;
};

// `value`: its only store. nullopt: the load, at the points where its mask may hold, doesn't go along the loops of the
// value.
std::optional<LoadMap> map_load(const Nest& nest, const NestNode& load, const Nest& value);

// An access of the value's nest, from the loops of the load.
Access moved(const Access& a, const LoadMap& m);

}  // namespace tfvm
