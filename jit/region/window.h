#pragma once
// One run of a prepared nest: where it stands, and the evaluation of a window.

#include <cstring>

#include "jit/region/code.h"

namespace tfvm {

class WindowRun {
 public:
  WindowRun(const NestCode& code, std::byte* const* bases, std::byte* scratch, NestWatch* watch, NestPart part);

  // To be asked before each window.
  bool may_go_on() {
    if (watch_ && (watch_->credit -= weight_) <= 0 && !watch_->look(*watch_)) return false;
    ++done_;
    return true;
  }
  // A nest that goes on: whether the next window was evaluated before.
  bool was_done() const { return watch_ && done_ < watch_->windows_done; }
  void skip() { ++done_; }
  bool only_skipped() const { return watch_ && done_ <= watch_->windows_done; }  // so far
  std::int64_t windows_done() const { return done_; }
  // Of the loops that this part runs.
  std::int64_t extent(std::uint32_t loop) const { return loop == 0 ? end_ - begin_ : code_.extents[loop]; }
  std::int64_t begin() const { return begin_; }  // of loop 0

  // Evaluates all nodes at `steps` steps of loop q from the present place, and does the stores.
  void evaluate(std::int64_t steps);
  void evaluate_scalar();

  const void* value(std::uint32_t node) const { return ptr_[node]; }
  std::byte* scratch(std::size_t offset) const { return scratch_ + offset; }
  // The present place moves by `by` steps of a loop.
  void move(std::uint32_t loop, std::int64_t by) {
    for (std::size_t a = 0; a < code_.accesses.size(); ++a) offset_[a] += by * code_.accesses[a].strides[loop];
  }
  // Runs `body` at every combination of the loops [first, last), until it gives false; the place comes back to where it
  // was.
  template <class Body>
  bool for_loops(std::uint32_t first, std::uint32_t last, Body body);
  // Memory of an access, `elements` from its start.
  std::byte* memory(const AccessCode& a, std::int64_t elements) const { return bases_[a.base] + elements * a.size; }
  std::int64_t place(std::uint32_t access) const { return offset_[access]; }
  const NestCode& code() const { return code_; }

 private:
  void node(std::uint32_t i, std::int64_t steps, std::int64_t n);
  void run_op(const NodeCode& c, std::uint32_t i, std::int64_t n);
  void pick(const NodeCode& c, std::uint32_t i, std::int64_t steps, std::int64_t n);
  void gather(const AccessCode& a, std::int64_t from, std::int64_t steps, std::byte* out);
  void scatter(const AccessCode& a, std::int64_t to, std::int64_t steps, const std::byte* in);
  void iota(const AccessCode& a, std::int64_t from, std::int64_t steps, std::int64_t* out);
  template <class Row>
  void for_rows(const AccessCode& a, std::int64_t at, std::int64_t steps, Row row);
  void store(const StoreCode& s, std::int64_t steps, std::int64_t n);

  const NestCode& code_;
  std::byte* const* bases_;
  std::byte* scratch_;
  void** ptr_;
  std::int64_t* offset_;
  NestWatch* watch_;
  std::int64_t weight_, begin_ = 0, end_ = 1, done_ = 0;
};

template <class Body>
bool WindowRun::for_loops(std::uint32_t first, std::uint32_t last, Body body) {
  auto* index = reinterpret_cast<std::int64_t*>(scratch_ + code_.index);
  for (std::uint32_t d = first; d < last; ++d) index[d] = 0;
  for (;;) {
    if (!body()) return false;
    std::uint32_t d = last;
    for (; d > first; --d) {
      move(d - 1, 1);
      if (++index[d - 1] < extent(d - 1)) break;
      move(d - 1, -extent(d - 1));
      index[d - 1] = 0;
    }
    if (d == first) return true;
  }
}

}  // namespace tfvm
