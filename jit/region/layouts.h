#pragma once
// How values between nests lie in memory.

#include <cstdint>
#include <span>
#include <vector>

#include "jit/region/fuse.h"

namespace tfvm {

// A nest's inner loop takes consecutive elements at once. Where those that load what a nest stores go across it (the
// columns of a Jacobian, made one by one and put together as rows), another of its loops becomes the inner one, and
// what it stores lies in the order of its loops then:
//
//   t = f(x[i], y[j])   over [i, j], stored [j-last]        t = f(x[i], y[j])   over [j, i], stored [i-last]
//   z = g(t[j, i])      over [i, j]                    ->   z = g(t[j, i])      over [i, j]
//
// Of values that only nests without reductions load, each at places that say which element of which dim it is.
// `live_out`, by base: values that are somebody else's as well.
void choose_layouts(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out);

}  // namespace tfvm
