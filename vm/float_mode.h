#pragma once

#include <immintrin.h>

namespace tfvm {

// While it lives: round to nearest, denormals kept, nothing traps. Where the host's mode is another, it comes back then,
// status flags included; where it is this one nothing is written, nor read a second time, which would be half the cost
// of a small call, and flags that the call raises stay raised, as those of any function.
class FloatMode {
 public:
  FloatMode() : saved_(_mm_getcsr()), is_changed_((saved_ & kControl) != kDefault) {
    if (is_changed_) _mm_setcsr(kDefault);
  }
  ~FloatMode() {
    if (is_changed_) _mm_setcsr(saved_);
  }
  FloatMode(const FloatMode&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80, kControl = 0xffc0;
  unsigned saved_;
  bool is_changed_;
};

}  // namespace tfvm
