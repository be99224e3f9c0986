#include "jit/region/time.h"

#include <algorithm>

#include "jit/region/recompute.h"

namespace tfvm {

namespace {

constexpr double kLanes = 16;  // of the widest vectors
constexpr double kLoad = 4;    // from beyond the nearest cache
constexpr double kAgain = 16;  // rounds after which what they all load is in it

double time_of(const NestNode& n) {
  if (n.kind == NestNodeKind::Load) return kLoad;
  const double one = cost(n);
  if (n.kind != NestNodeKind::Op) return one;
  switch (n.op) {
    case Op::pow:
    case Op::lgamma:
    case Op::digamma:
    case Op::erfinv:
      return 4 * one;
    case Op::erf:
    case Op::erfc:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::atan2:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::hypot:
      return 2 * one;
    default:
      return one;
  }
}

// A load of few elements, again and again.
bool comes_back(const Nest& nest, const NestNode& n, double points) {
  if (n.kind != NestNodeKind::Load) return false;
  double elements = 1;
  for (std::size_t d = 0; d < nest.extents.size(); ++d)
    if (nest.accesses[n.access].strides[d] != 0) elements *= static_cast<double>(nest.extents[d]);
  return elements * kAgain <= points;
}

}  // namespace

std::int64_t point_time_of(const NestNode& n) {
  return n.kind == NestNodeKind::Load ? 1 : static_cast<std::int64_t>(time_of(n));
}

std::int64_t time_of(const Nest& nest) {
  double points = 1, each = kLoad * static_cast<double>(nest.stores.size());
  for (std::int64_t extent : nest.extents) points *= static_cast<double>(extent);
  for (const NestNode& n : nest.nodes) each += comes_back(nest, n, points) ? 1 : time_of(n);
  each += static_cast<double>(nest.reductions.size());
  return points == 0 ? 0 : static_cast<std::int64_t>(std::min(each * std::max(points, kLanes), 0x1p60));
}

}  // namespace tfvm
