#pragma once
// Who is told of the parts of a product that are done, while others are still computed.

#include <cstdint>
#include <utility>

namespace tfvm {

// Blocks begin at multiples of this in rows and in columns.
inline constexpr std::int64_t kBlockSide = 16;

// A product of several lots has the rows of all of them behind each other.
struct BlockSink {
  void (*done)(BlockSink& self, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) = nullptr;
};

// Of one lot, whose first row is `first` in the result. Each element is in one block, told when it is final.
struct GemmBlocks {
  BlockSink* sink = nullptr;  // null: nobody is told
  std::int64_t first = 0;
  bool is_swapped = false;  // what is computed is the transposed product

  void done(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) const {
    if (!sink) return;
    if (is_swapped) std::swap(row, col), std::swap(rows, cols);
    sink->done(*sink, first + row, rows, col, cols);
  }
};

}  // namespace tfvm
