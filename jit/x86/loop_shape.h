#pragma once
// A loop taken apart, as shape.h does with nests: what code is made for, and its arguments.

#include "jit/x86/loop.h"
#include "jit/x86/shape.h"

namespace tfvm::x86 {

// How an access moves from trip to trip.
enum class ByTrip : std::uint8_t {
  Fixed,    // not at all
  Indexed,  // by as many elements as the index of points moves (most accesses)
  Stepped,  // by a step of its own
};

struct LoopShape {
  NestShape nest;  // its accesses: those of nodes, of stores, of what is stored at the end
  int reg_bytes = 32;
  std::vector<ByTrip> by_trip;  // per access
  struct Carry {
    std::uint32_t read = 0, next = 0;  // nodes
    std::uint32_t last = 0;            // access
  };
  std::vector<Carry> carries;
  std::uint32_t condition = kNoNode, count = 0;  // node, base: of LoopNest
};

// Arguments behind those of the nest: trips; what the index moves by in a trip, and by which it is set back at the end;
// the same two in bytes for each access.
constexpr int arg_trips(const NestShape& s) { return arg_access(s, s.accesses.size()); }
constexpr int arg_step(const NestShape& s, std::size_t access) {
  return arg_trips(s) + 3 + 2 * static_cast<int>(access);
}

struct ShapedLoop {
  LoopShape shape;
  std::vector<std::int64_t> args;
  NestCut cut;
  NestTrips trips;
  bool is_empty = false;
};

// `reg_bytes`: of the largest vector register. Unsupported: as take_apart; a loop without trips.
Result<ShapedLoop> take_apart(const LoopNest& loop, int reg_bytes);
std::string key(const LoopShape& shape);

}  // namespace tfvm::x86
