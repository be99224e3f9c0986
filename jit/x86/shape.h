#pragma once
// A nest taken apart: its shape, which code is made for and cached by, and the extents, strides and offsets of one
// instance, which are arguments of the code. Of these only "1 point", and inner strides of 0 and of one element are
// baked in.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bytecode/status.h"
#include "jit/region/code.h"
#include "jit/region/nest.h"
#include "jit/x86/native.h"

namespace tfvm::x86 {

enum class Inner : std::uint8_t {
  Same,     // the same element along the inner loop
  Unit,     // consecutive elements
  Strided,  // any other stride, an argument
};

struct ShapeAccess {
  std::uint32_t base = 0;
  DType dtype = DType::F32;
  Inner inner = Inner::Same;
  bool is_iota = false;
  bool is_narrow = false;    // an iota whose elements are small integers, made in lanes of 4 bytes
  bool is_still = false;     // Across: the same element in all rounds of the inner loops
  bool is_packed = false;    // Along: a strided load that repeats from round to round; packed before the first
  bool is_streamed = false;  // stored only, and more than caches hold
  friend bool operator==(const ShapeAccess&, const ShapeAccess&) = default;
};

// Elements of a row of an array of structs share an address: how many bytes they may be apart.
constexpr std::int64_t row_reach(const ShapeAccess& a) { return a.inner == Inner::Strided && !a.is_iota ? 128 : 0; }

struct ShapeStore {
  std::uint32_t node = 0, access = 0;
  std::int32_t displacement = 0;  // bytes
};

struct ShapeReduction {
  Op op = Op::reduce_sum;
  std::uint32_t node = 0, access = 0;
  std::int32_t displacement = 0;
  NestSource source = {};
};

// How a nest with reductions runs; see emit_reduce.h.
enum class Schedule : std::uint8_t {
  Plain,   // there are none
  Across,  // lanes are results: loops over kept points, a vector of results, loops over what is reduced
  Along,   // lanes are elements of a row: loops over kept points, over rows of a result, within the row
};

inline constexpr int kOneBytes = 32;  // of a register, in the code of a single point

// Trips of the inner loop that code is made with: an instance seldom has both kinds, and each is all of the nest once.
using TripSet = std::uint8_t;
inline constexpr TripSet kWholeTrips = 1, kRestTrips = 2, kAllTrips = kWholeTrips | kRestTrips;

// A single point, or loops, one of which is the inner one, a vector of `lanes` points at a time: the last, but for the
// `within` loops that Across has inside.
struct NestShape {
  bool one = false;
  int loops = 0;
  int within = 0;
  int kept = 0, rows = 0;  // Along: how many loops, from the outside, are kept, and how many go over rows
  Schedule schedule = Schedule::Plain;
  bool is_direct = false;   // Along: one loop within the row, its lanes are those of the row's sum
  bool may_repeat = false;  // Plain, Across: a trip may be run again, as no store changes what it loads
  bool is_far = false;      // Across: lines of a round are asked for some rounds before
  int lanes = 8;
  TripSet trips = kAllTrips;  // not in the key
  std::vector<ShapeAccess> accesses;
  std::vector<NestNode> nodes;  // access: index into accesses; of a load, bits: bytes added to the place. A load with
                                // an index has an access that is Unit only where the index is the same in all lanes
  std::vector<ShapeStore> stores;
  std::vector<ShapeReduction> reductions;

  constexpr int outside() const { return loops > 0 ? loops - 1 - within : 0; }  // loops outside the inner one
};

// The arguments, i64 each: points of the inner loop in whole trips; points left; the extents of the other loops from
// the outside; then for each access: offset, inner stride, what is added after a round of each other loop, and, where
// there are loops within the inner one, after all of their rounds. Bytes, but elements for an iota.
inline constexpr int kArgWhole = 0, kArgRest = 1, kArgExtents = 2;
constexpr int arg_access(const NestShape& s, std::size_t access) {
  const int others = s.outside() + s.within;
  return kArgExtents + others + static_cast<int>(access) * (2 + others + (s.within > 0));
}

struct ShapedNest {
  NestShape shape;
  std::vector<std::int64_t> args;
  NestCut cut;
  NestTrips trips;
  NestBlocks blocks;
  bool is_empty = false;  // no points: nothing to run
};

// Unsupported: dtypes without lanes (8- and 16-bit, complex), strides beyond what vector indices reach.
// `reg_bytes`: of a vector register, 32 or 64. `in_tiles`: blocks are given for others to ask for, where it may be run
// in such.
Result<ShapedNest> take_apart(const Nest& nest, int reg_bytes, bool in_tiles = false);

// The parts of take_apart that all kinds of loops share.
bool has_lanes(DType d);
bool has_lanes(const NestNode& n);
Inner inner_of(std::int64_t stride, bool has_no_unit);
// Per node: does it change along a loop?
std::vector<std::uint8_t> find_varying(std::span<const NestNode> nodes, std::span<const AccessCode> accesses,
                                       std::size_t loop);
bool is_narrow(const AccessCode& iota, std::span<const std::int64_t> extents);
bool is_in_reach(std::int64_t stride, int reg_bytes);
int choose_lanes(const Nest& nest, bool one, int reg_bytes);
void choose_inner(NestCode& loops);
// `sources`: of each access of the shape, the one of `loops`.
std::vector<std::int64_t> nest_arguments(const NestShape& shape, const NestCode& loops,
                                         std::span<const std::uint32_t> sources);
// How it is cut into parts: a round of the outermost loop each, or some trips of the only one.
NestCut nest_cut(const NestShape& shape, const NestCode& loops, std::span<const std::uint32_t> sources,
                 std::int64_t work);
Result<ShapedNest> take_reduction_apart(const Nest& nest, int reg_bytes);  // with reductions

// Whether memory of a store may be that of a load, by what nest.h says of both.
bool may_be_in_place(const NestShape& shape, std::span<const AccessCode> accesses,
                     std::span<const std::uint32_t> sources);
// The kinds of trips that an instance makes. Where a trip may be run again, points that are left behind whole trips are
// part of another whole one, over the last points.
TripSet trips_of(const NestShape& shape, std::span<const std::int64_t> args);

// Equal for nests that one code serves, if it has their trips.
std::string key(const NestShape& shape);

}  // namespace tfvm::x86
