#pragma once
// Accesses of neighbouring elements in every lane, lanes a stride apart: an array of structs. The elements of a lane, a
// row of at most 16 bytes, are moved at once, and rows become registers of lanes, or are made of them, by shuffles.

#include <array>
#include <vector>

#include "jit/x86/lane_code.h"
#include "jit/x86/shape.h"

namespace tfvm::x86 {

inline constexpr int kRowBytes = 16;
inline constexpr int kRowRegisters = 10;  // that moving one takes, at most

// Loads, or stores, by their places in the row. A load's row may have gaps, kNoLane, within.
struct Row {
  std::array<LaneId, 4> of = {kNoLane, kNoLane, kNoLane, kNoLane};
  int size = 0;  // elements
};

struct Rows {
  std::vector<Row> rows;
  std::vector<std::uint32_t> row_of;  // of each instruction, kNoLane: in none; empty: there are none
};

// `order`: the instructions of a trip. Those of a row of stores are put next to each other, where the last of them was.
Rows find_rows(const LaneCode& code, const NestShape& shape, std::vector<LaneId>& order);

}  // namespace tfvm::x86
