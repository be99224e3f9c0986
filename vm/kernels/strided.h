#pragma once
// Walks over strided tensors, and copies of them.

#include <cstring>
#include <span>

#include "vm/kernels/kernel.h"

namespace tfvm {

inline constexpr std::int32_t kMaxRank = 32;  // of a kernel's operands; make_kernel refuses more

// All positions of `dims` in row-major order, with the element offsets of N strided tensors.
template <int N>
class Walk {
 public:
  Walk(std::int32_t rank, const std::int64_t* dims) : rank_(rank), dims_(dims) {
    for (std::int32_t d = 0; d < rank; ++d) left_ = left_ && dims[d] > 0;
  }
  void strides(int k, const std::int64_t* s) { strides_[k] = s; }
  bool more() const { return left_; }
  std::int64_t at(int k) const { return offset_[k]; }
  std::int64_t place(std::int32_t d) const { return index_[d]; }
  void next() {
    for (std::int32_t d = rank_; d-- > 0;) {
      for (int k = 0; k < N; ++k) offset_[k] += strides_[k][d];
      if (++index_[d] < dims_[d]) return;
      for (int k = 0; k < N; ++k) offset_[k] -= strides_[k][d] * dims_[d];
      index_[d] = 0;
    }
    left_ = false;
  }

 private:
  std::int32_t rank_;
  const std::int64_t* dims_;
  const std::int64_t* strides_[N] = {};
  std::int64_t index_[kMaxRank] = {};
  std::int64_t offset_[N] = {};
  bool left_ = true;
};

// to[i] = from[i] over dims, elements of `size` bytes.
void copy_strided(std::int32_t rank, const std::int64_t* dims, std::byte* to, const std::int64_t* to_strides,
                  const std::byte* from, const std::int64_t* from_strides, std::int64_t size);

// A row-major result becomes a copy of the operand; nothing is done where they are the same memory.
void copy_view(const View& to, const View& from);

inline std::int64_t elements(const View& v) {
  std::int64_t n = 1;
  for (std::int32_t d = 0; d < v.rank; ++d) n *= v.dims[d];
  return n;
}

std::int64_t load_index(DType dtype, const std::byte* p);  // an element of an integer dtype; u64 as its bits

}  // namespace tfvm
