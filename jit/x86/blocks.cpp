#include "jit/x86/blocks.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tfvm::x86 {

namespace {

constexpr std::int64_t kMostPoints = 128, kLeast = 32;  // points of the inner loop: in a block; that it has at least

// Whether the access goes by whole lines along the inner loop and by elements along loop d.
bool goes_across(const AccessCode& a, std::size_t d) {
  return std::abs(a.strides.back()) * a.size >= kLine && std::abs(a.strides[d]) == 1;
}

// How many lines that an access takes along the inner loop stay in the cache together.
std::int64_t lines_kept(const AccessCode& a) {
  const std::int64_t stride = std::abs(a.strides.back()) * a.size;
  const std::int64_t apart = stride % kLine ? 1 : stride / kLine;
  return kSets / std::gcd(kSets, apart) * kWays;
}

}  // namespace

bool find_across(NestCode& loops) {
  auto& e = loops.extents;
  if (e.size() < 2 || e.back() < kLeast) return false;
  for (std::size_t d = e.size() - 1; d-- > 0;) {
    const bool is_worth = std::ranges::any_of(loops.accesses, [&](const AccessCode& a) {
      return e[d] * a.size >= kLine / 2 && goes_across(a, d) && e.back() > lines_kept(a) / 2;
    });
    if (!is_worth) continue;
    const auto move = [&](auto& v) {
      std::rotate(v.begin() + static_cast<std::ptrdiff_t>(d), v.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                  v.end() - 1);
    };
    move(e);
    for (AccessCode& a : loops.accesses) move(a.strides);
    return true;
  }
  return false;
}

NestBlocks nest_blocks(const NestShape& shape, const NestCode& loops, std::span<const std::uint32_t> sources) {
  const auto outer = static_cast<std::uint32_t>(loops.extents.size()) - 1, d = outer - 1;
  NestBlocks b;
  std::int64_t lines = 2 * kMostPoints, across = 0, size = 8;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const AccessCode& a = loops.accesses[sources[k]];
    if (shape.accesses[k].is_iota || !goes_across(a, d)) continue;
    ++across;
    lines = std::min(lines, lines_kept(a) / 2);
    size = std::min<std::int64_t>(size, a.size);
  }
  if (across == 0) return b;  // an iota has no memory
  b.lanes = shape.lanes;
  b.points = std::max<std::int64_t>(1, std::min(lines / across, kMostPoints) / b.lanes) * b.lanes;
  b.rounds = kLine / size;
  b.extent = kArgExtents + d;
  for (std::uint32_t k = 0; k < sources.size(); ++k) {
    const AccessCode& a = loops.accesses[sources[k]];
    const std::int64_t bytes = shape.accesses[k].is_iota ? 1 : a.size;
    const auto arg = static_cast<std::uint32_t>(arg_access(shape, k));
    b.steps.push_back({arg, a.strides[outer] * bytes, a.strides[d] * bytes});
    if (d > 0) b.around.emplace_back(arg + 2 + d - 1, a.strides[d] * bytes);
  }
  return b;
}

NestBlocks nest_tiles(const NestShape& shape, const NestCode& loops, std::span<const std::uint32_t> sources) {
  NestBlocks b;
  b.lanes = shape.lanes;
  const bool has_rounds = loops.extents.size() > 1;
  if (has_rounds) b.extent = kArgExtents;
  for (std::uint32_t k = 0; k < sources.size(); ++k) {
    const AccessCode& a = loops.accesses[sources[k]];
    const std::int64_t bytes = shape.accesses[k].is_iota ? 1 : a.size;
    b.steps.push_back({static_cast<std::uint32_t>(arg_access(shape, k)), a.strides.back() * bytes,
                       has_rounds ? a.strides.front() * bytes : 0});
  }
  return b;
}

}  // namespace tfvm::x86
