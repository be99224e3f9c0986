#include "vm/plan/whole.h"

#include <algorithm>
#include <iterator>

#include "jit/region/edit.h"
#include "jit/region/recompute.h"
#include "vm/plan/unroll.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMaxWork = 2048;  // evaluations of nodes
// Costs in picoseconds, of code that runs from the nearest cache: of an addition alone, of one in a vector with its
// share of loads and stores, of the one point and of a nest beside its points, of another step; of waiting for what
// the step before has just stored.
constexpr std::int64_t kAlone = 140, kInVector = 60, kWhole = 8000, kNest = 14000, kStep = 50000, kThrough = 16000;

std::int64_t cost_of_nodes(const Nest& n) {
  std::int64_t sum = 0;
  for (const NestNode& node : n.nodes) sum += cost(node);
  return sum;
}

// The same of loops: of a trip step by step; of one thing done alone in code of so many, which first has too few
// registers for its values and then is more than the cache of decoded instructions holds. Measured on Zen 1 with
// stencils of 8 to 1000 elements.
constexpr std::int64_t kTrip = 50000, kTripOfWhile = 100000;
std::int64_t alone_in_loop(std::size_t nodes) {
  return 300 + std::min<std::int64_t>(static_cast<std::int64_t>(nodes), 1000) * 4 / 5;
}

// Points that a vector goes through, those of a last trip that are not there included.
std::int64_t in_trips(std::int64_t points) { return (points + 7) / 8 * 8; }

}  // namespace

std::optional<Nest> whole_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan) {
  if (low.items.empty() || plan.params.size() + plan.results.size() > NestStep::kMaxBases) return std::nullopt;
  std::int64_t work = 0;
  for (const FuseItem& item : low.items)
    if (item.nest && (work += work_of(*item.nest)) > kMaxWork) return std::nullopt;
  for (const auto* list : {&plan.params, &plan.results})
    for (const ValueType& v : *list)
      if (v.is_tape || !has_lanes(v.dtype)) return std::nullopt;
  for (const FuseItem& item : low.items)
    for (std::size_t k = 0; item.nest && k < item.nest->nodes.size(); ++k)
      if (!has_lanes(item.nest->nodes[k].dtype)) return std::nullopt;
  Unroller u(t, flat, low, plan, {});
  if (!u.run(false)) return std::nullopt;
  Nest n = u.take();
  if (n.stores.empty() || std::ranges::any_of(n.nodes, is_picking)) return std::nullopt;
  return n;
}

bool is_faster(const Nest& whole, std::span<const FuseItem> items) {
  std::int64_t apart = kThrough * (std::ssize(items) - 1);
  for (const FuseItem& item : items) {
    if (item.nest)
      apart += kNest + kInVector * (in_trips(points(*item.nest)) * (cost_of_nodes(*item.nest) + 1));
    else
      apart += kStep;
  }
  const auto moved = static_cast<std::int64_t>(whole.accesses.size() + whole.stores.size());
  return kWhole + kAlone * (cost_of_nodes(whole) + moved) < apart;
}

bool is_faster_in_loop(const Nest& body, std::span<const FuseItem> items, bool is_scan) {
  constexpr std::int64_t kFewLanes = 8, kFewPoints = 16;
  if (points(body) >= kFewLanes) return true;
  const std::int64_t each = alone_in_loop(body.nodes.size());
  std::int64_t apart = is_scan ? kTrip : kTripOfWhile;
  for (const FuseItem& item : items) {
    if (!item.nest) return true;
    const bool is_wide = std::ranges::any_of(
        item.nest->nodes, [](const NestNode& n) { return is_float(n.dtype) && size_of(n.dtype) == 8; });
    const std::int64_t n = points(*item.nest), nodes = cost_of_nodes(*item.nest) + 1;
    apart += kNest + kThrough + (n < kFewPoints ? each * n : kInVector * (is_wide ? 2 : 1) * in_trips(n)) * nodes;
  }
  return each * (cost_of_nodes(body) + std::ssize(body.stores)) < apart;
}

}  // namespace tfvm
