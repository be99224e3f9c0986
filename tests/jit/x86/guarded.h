#pragma once
// Memory between pages that can't be touched, and the comparison of what two tiers left in it.

#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "bytecode/consts.h"

namespace tfvm {

inline constexpr std::size_t kPage = 4096;

// Bytes that end (or begin) at a page that can't be touched.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) : bytes_(bytes), pages_((bytes + kPage - 1) / kPage + 2) {
    map_ = static_cast<std::byte*>(mmap(nullptr, pages_ * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_ + kPage, (pages_ - 2) * kPage, PROT_READ | PROT_WRITE);
    data_ = at_end ? map_ + (pages_ - 1) * kPage - bytes : map_ + kPage;
  }
  ~Guarded() { munmap(map_, pages_ * kPage); }
  Guarded(const Guarded&) = delete;
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_, pages_;
  std::byte *map_, *data_;
};

inline bool is_nan(const std::byte* p, DType d) {
  if (!is_float(d)) return false;
  const double v = load_double(d, p);
  return v != v;
}

// NaN equals NaN.
inline bool agree(const std::byte* a, const std::byte* b, std::size_t bytes, DType d) {
  const auto size = static_cast<std::size_t>(size_of(d));
  for (std::size_t at = 0; at + size <= bytes; at += size)
    if (std::memcmp(a + at, b + at, size) != 0 && !(is_nan(a + at, d) && is_nan(b + at, d))) {
      ADD_FAILURE() << "element " << at / size << ": " << load_double(d, a + at) << " interpreted, "
                    << load_double(d, b + at) << " native";
      return false;
    }
  return true;
}

}  // namespace tfvm
