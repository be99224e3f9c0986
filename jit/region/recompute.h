#pragma once
// Values that are computed again by each reader, and so never stored.

#include <cstdint>
#include <span>
#include <vector>

#include "jit/region/fuse.h"

namespace tfvm {

// A large value is *cheap* where each of its elements takes a few ops on elements of arrays that are small beside it:
// differences of all pairs, outer products. Nests that load a cheap value compute it instead, whatever loops they have,
// so that values by pairs, and what is made of them, exist in registers only. Reductions over a few elements count as
// ops. The nests that store what nobody loads any more are left to fuse.
//
//   d = x[i] - x[j]          over [i, j]        cheap: n * n elements of n
//   f = reduce_sum(g(d), j)  over [i, j]   ->   f = reduce_sum(g(x[i] - x[j]), j)
//
// `live_out`, by base: values that are stored anyway; their readers load them.
void recompute(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out);

// The same for small values of fused items: a nest whose elements are computed by its readers in less time than it
// takes as a step of its own is left out.
//
//   t = g(p)            over [j]
//   y = f(s, t[j])      over [3, j]   ->   y = f(s, g(p[j]))
void recompute_small(std::vector<FuseItem>& items, std::span<const std::uint8_t> live_out);

// What a node costs about, in additions of a vector.
int cost(const NestNode& n);

}  // namespace tfvm
