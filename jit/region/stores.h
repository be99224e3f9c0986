#pragma once
// What nests store for later ones.

#include <cstdint>
#include <span>
#include <vector>

#include "jit/region/fuse.h"

namespace tfvm {

// A large nest whose values are loaded by nests over the same loops, as those of a forward pass by the backward pass,
// stores what they follow from in a few cheap ops instead, where that is fewer bytes; what follows from arrays that it
// loads itself is not stored at all:
//
//   t = tanh(x); a = t + 1; b = (1 - t) * (t + 1); store a, b        t = tanh(x); store t
//   y = a * c; z = b * c                                        ->   y = (t + 1) * c; z = (1 - t) * (t + 1) * c
//
// The choice is that of a cut between what is dear to compute and what is needed (Chen, Xu, Zhang, Guestrin, "Training
// Deep Nets with Sublinear Memory Cost", 2016, for the idea), searched by adding one value at a time. Values that are
// new have the bases from `bases` on; the bytes of each are returned. `live_out`, by base: values that are somebody
// else's as well.
std::vector<std::int64_t> choose_stores(std::vector<FuseItem>& items, std::uint32_t bases,
                                        std::span<const std::uint8_t> live_out, const FuseOptions& options);

}  // namespace tfvm
