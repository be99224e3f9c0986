#pragma once
// A whole loop over an elementwise nest: the points are lanes, each of which makes all trips before the next lanes
// begin, with what is carried from trip to trip in registers. Only for machine code: the block interpreter runs the
// same loop trip by trip over all points.
//
//   x = scan(x -> sin(x) + u[t], 1000 trips), x: f32[64], u: f32[1000, 64]
//     body      extents [64]; n0 = load a0 (x at first), n1 = sin n0, n2 = load a1 (u), n3 = add n1, n2
//     trips     1000
//     strides   a0: 0, a1: 64
//     carries   a0, next n3, last -> the result

#include <cstdint>
#include <vector>

#include "jit/region/nest.h"

namespace tfvm {

// One value that is carried. Its access is that of one Load node only, which gives the element that is there in the
// first trip, and in the others the `next` of the trip before. `next` may be that node itself: then it never changes.
struct LoopValue {
  std::uint32_t access = 0;
  std::uint32_t next = 0;  // node
  Access last;             // where the value of `next` in the last trip is stored
};

// No memory that is written is read, but for carries: `last` may be the memory of the carry's own access, point by
// point. Extents may be anything, trips are at least 1.
//
// With a condition it is a `while`: as a trip begins, a group of lanes asks for the condition, and goes on where one of
// them has it. So a trip must not change a lane that has not, where others have; where it stores, all lanes must have
// it or none.
struct LoopNest {
  Nest body;  // no reductions; its stores are made in each trip
  std::int64_t trips = 1;
  std::vector<std::int64_t> strides, store_strides;  // elements from trip to trip: of body.accesses, of body.stores
  std::vector<LoopValue> carries;
  std::uint32_t condition = kNoNode;  // a bool node; `trips` is then 1, and means nothing
  // Base of an i64: the trips that a group may make, at least 1. The code leaves there how many of them the group that
  // made most of them did not need; 0: it did not come to the end, and the loop is to be run again from its last
  // values.
  std::uint32_t count = 0;
};

}  // namespace tfvm
