#pragma once
// Where the values of a plan stand.

#include <cstdint>
#include <memory>

namespace tfvm {

struct Plan;
using PlanRef = std::shared_ptr<const Plan>;

inline constexpr std::uint32_t kFrameRoot = 0, kPoolRoot = 1, kFirstParam = 2;

// A place in memory: bytes from a root.
struct Address {
  std::uint32_t root = 0;
  std::int64_t offset = 0;
};

// A span in Plan::places.
struct Addresses {
  std::uint32_t begin = 0, count = 0;
};

}  // namespace tfvm
