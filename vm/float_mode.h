#pragma once

#include <immintrin.h>

namespace tfvm {

// While it lives: round to nearest, denormals kept, nothing traps. The host's mode comes back, status flags included.
// The register is written only where that changes it.
class FloatMode {
 public:
  FloatMode() : saved_(_mm_getcsr()) {
    if ((saved_ & kControl) != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatMode() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }
  FloatMode(const FloatMode&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80, kControl = 0xffc0;
  unsigned saved_;
};

}  // namespace tfvm
