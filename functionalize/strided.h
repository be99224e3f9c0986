#pragma once
// Where the elements of a view stand in the storage of its base, in elements.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tfvm::functional {

struct Strided {
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides;
  friend bool operator==(const Strided&, const Strided&) = default;
};

std::int64_t elements(const Strided& x);
Strided row_major(std::span<const std::int64_t> shape);
// The same elements in another shape; nullopt where no strides do that.
std::optional<Strided> reshaped(const Strided& x, std::span<const std::int64_t> shape);
// Do two elements stand at one place? Exact.
bool overlaps_itself(const Strided& x);
// First and last place, which is before the first for a view of no elements.
struct Extent {
  std::int64_t first, last;
};
Extent extent(const Strided& x);

}  // namespace tfvm::functional
