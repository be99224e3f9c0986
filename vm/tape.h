#pragma once
// What a loop wrote in each of its trips. Records stand in chunks that grow, outside of any frame, and count against
// the budget. A value of type tape is a pointer to one, in 8 bytes; null is the tape without records.

#include <vector>

#include "vm/storage.h"

namespace tfvm {

class Tape {
 public:
  Tape(BudgetRef budget, std::int64_t record_bytes) : budget_(std::move(budget)), stride_(stride_of(record_bytes)) {}
  static std::int64_t stride_of(std::int64_t record_bytes) { return align_up(record_bytes, 8); }
  std::int64_t size() const { return size_; }
  // Room for one more record, uninitialised; null where memory is refused.
  std::byte* append();
  // Room for more records, one after the other, and for how many; null where memory is refused.
  std::byte* room(std::int64_t& records);
  void wrote(std::int64_t records) { size_ += records; }
  // `n` records in one piece, uninitialised; the tape must be empty.
  bool resize(std::int64_t n);
  std::byte* at(std::int64_t i) const;  // 0 <= i < size()
  // How many records, from i on or backwards from there, stand side by side, stride_of apart.
  std::int64_t run(std::int64_t i, bool backwards) const;
  std::int64_t bytes() const;  // that its chunks take

 private:
  struct Chunk {
    StorageRef memory;
    std::int64_t first, count;  // records
  };
  bool grow(std::int64_t count);
  bool has_room();
  const Chunk& chunk(std::int64_t i) const;
  BudgetRef budget_;
  std::vector<Chunk> chunks_;
  std::int64_t stride_, size_ = 0, capacity_ = 0;
  mutable std::size_t last_ = 0;  // chunk of the last access: they go in order
};

// The tapes of one call. What a plan made while it ran is let go at its end, unless it gives tapes itself.
class Tapes {
 public:
  explicit Tapes(BudgetRef budget) : budget_(std::move(budget)) {}
  Tape* make(std::int64_t record_bytes);
  // Zeros to read behind the end of a tape; null where memory is refused.
  const std::byte* zeros(std::int64_t bytes);
  std::size_t mark() const { return tapes_.size(); }
  void release(std::size_t mark) { tapes_.resize(mark); }

 private:
  BudgetRef budget_;
  std::vector<std::unique_ptr<Tape>> tapes_;
  std::vector<StorageRef> zeros_;  // each larger than the one before
};

}  // namespace tfvm
