#pragma once
// Which indices of take, take_along and gather mode "error" lets pass; and a kernel that looks at the indices alone.

#include <vector>

#include "bytecode/attrs.h"
#include "vm/kernels/kernel.h"

namespace tfvm {

// Vectors of indices: one entry for each of some dims of x.
struct IndexVectors {
  struct Entry {
    std::int32_t axis;   // of x
    std::int64_t bound;  // that it must be below
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::int32_t vector_dim;  // of the indices; their rank where vectors are single numbers
  bool wraps;               // negative ones count from the end
  std::vector<Entry> entries;
  friend bool operator==(const IndexVectors&, const IndexVectors&) = default;
};

IndexVectors index_vectors(const AttrTable& attrs, Op op, AttrId at, Dims x, Dims idx);

// Its operands are those of the op; of x and of results only the dims count. It fails as the op's kernel does.
Kernel check_kernel(IndexVectors vectors);

}  // namespace tfvm
