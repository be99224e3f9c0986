#pragma once
// Shared by the files of the executor: places, and pointers that loops set before each trip.

#include <algorithm>
#include <cstring>

#include "vm/plan/plan.h"
#include "vm/tape.h"

namespace tfvm {

inline std::byte* at(std::byte* const* roots, const Address& p) { return roots[p.root] + p.offset; }

inline std::byte** roots_of(std::byte* frame) { return reinterpret_cast<std::byte**>(frame); }

inline void set_roots(std::byte** to, std::byte* const* from, const Plan& plan, Addresses list) {
  const Address* p = plan.places.data() + list.begin;
  for (std::uint32_t k = 0; k < list.count; ++k) to[k] = at(from, p[k]);
}

inline void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// Pointers of a carry at the start of a loop. Alternate: the first trip reads the initial value where it stands.
inline void start_carry(const LoopCarry& c, std::byte* init, std::byte** roots, std::byte*& param, std::byte*& result) {
  param = init;
  result = at(roots, c.result);
  if (c.kind == LoopCarry::Kind::InPlace) {
    copy_bytes(result, param, c.bytes);
    param = result;
  } else if (c.kind == LoopCarry::Kind::Kept) {
    result = param;
  }
}

// Additions (time_of) by machine code between two looks at the clock and the flag: some 20 us where a call may pause,
// else 300, for what is carried from trip to trip goes through memory at each look.
inline constexpr std::int64_t kWorkOfLook = 1 << 17, kWorkOfRareLook = 1 << 21;
inline constexpr std::int64_t kManyTrips = 1 << 20;  // enough for any loop to be worth machine code

inline std::int64_t trips_between_looks(const NativeLoop& loop, bool may_pause) {
  return std::max<std::int64_t>(1, (may_pause ? kWorkOfLook : kWorkOfRareLook) / (loop.work + 1));
}

// Values of type tape.
inline Tape* tape_at(const std::byte* place) {
  Tape* t = nullptr;
  std::memcpy(&t, place, sizeof t);
  return t;
}
inline void set_tape(std::byte* place, Tape* t) { std::memcpy(place, &t, sizeof t); }

}  // namespace tfvm
