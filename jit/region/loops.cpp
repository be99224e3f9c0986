#include "jit/region/loops.h"

#include <algorithm>
#include <span>

#include "jit/region/time.h"

namespace tfvm {

namespace {

enum class Role : std::uint8_t { Kept, Reduced, Inner };  // Inner: the trailing run, reduced (Rows) or kept (Columns)

std::vector<const Access*> all_accesses(const Nest& nest) {
  std::vector<const Access*> all;
  for (const Access& a : nest.accesses) all.push_back(&a);
  for (const Store& s : nest.stores) all.push_back(&s.to);
  for (const Reduction& r : nest.reductions) all.push_back(&r.to);
  return all;
}

struct Loop {
  std::int64_t extent;
  Role role;
  std::uint32_t source;  // loop of the nest
};

// Loops in the order: kept, reduced, the inner run; within each as in the nest.
std::vector<Loop> ordered_loops(const Nest& nest, NestMode& mode) {
  std::vector<Loop> loops;
  for (std::uint32_t d = 0; d < nest.extents.size(); ++d)
    if (nest.extents[d] != 1) loops.push_back({nest.extents[d], nest.reduced[d] ? Role::Reduced : Role::Kept, d});
  if (!nest.has_reduction()) {
    mode = loops.empty() ? NestMode::Scalar : NestMode::Plain;
    return loops;
  }
  // A reduction over nothing but extents of 1: every point is a row of one element.
  if (std::ranges::find(loops, Role::Reduced, &Loop::role) == loops.end()) {
    mode = NestMode::Rows;
    if (loops.empty()) loops.push_back({1, Role::Kept, 0});
    return loops;
  }
  mode = loops.back().role == Role::Reduced ? NestMode::Rows : NestMode::Columns;
  const Role inner = loops.back().role;
  for (std::size_t k = loops.size(); k-- > 0 && loops[k].role == inner;) loops[k].role = Role::Inner;
  std::ranges::stable_sort(loops, {}, &Loop::role);
  return loops;
}

// Two neighbouring loops of one role are one where every access goes through both with one stride.
void coalesce(std::vector<Loop>& loops, std::vector<AccessCode>& accesses) {
  for (std::size_t k = loops.size(); k-- > 1;) {
    if (loops[k - 1].role != loops[k].role) continue;
    const auto fits = [&](const AccessCode& a) { return a.strides[k - 1] == a.strides[k] * loops[k].extent; };
    if (!std::ranges::all_of(accesses, fits)) continue;
    loops[k - 1].extent *= loops[k].extent;
    for (AccessCode& a : accesses) a.strides[k - 1] = a.strides[k];
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(k));
    for (AccessCode& a : accesses) a.strides.erase(a.strides.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

std::int64_t points(std::span<const Loop> loops) {
  std::int64_t n = 1;
  for (const Loop& l : loops) n *= l.extent;
  return n;
}

// Of a point, in additions, from which on windows are smaller: one is not interrupted.
constexpr std::int64_t kDear = 48;

// The window: as many loops from the inside as fit, and a chunk of the next.
void plan_window(NestCode& code, std::size_t first) {
  if (code.extents.empty()) return;
  std::size_t q = code.extents.size() - 1;
  code.inside = 1;
  while (q > first && code.inside * code.extents[q] <= code.block) code.inside *= code.extents[q--];
  code.q = static_cast<std::uint32_t>(q);
  code.chunk = std::clamp<std::int64_t>(code.block / code.inside, 1, std::max<std::int64_t>(1, code.extents[q]));
}

// Columns: inner loops that don't fit a block go outside the reduction; a single one that doesn't is cut into chunks.
void plan_columns(std::vector<Loop>& loops, std::vector<AccessCode>& accesses, NestCode& code) {
  const auto first_inner = std::ranges::find(loops, Role::Inner, &Loop::role);
  auto inner = static_cast<std::size_t>(first_inner - loops.begin());
  while (inner + 1 < loops.size() && points(std::span(loops).subspan(inner)) > code.block) ++inner;
  const auto moved = inner - static_cast<std::size_t>(first_inner - loops.begin());
  // [kept][reduced][moved][inner] -> [kept][moved][reduced][inner]
  const auto kept_end = std::ranges::find(loops, Role::Reduced, &Loop::role) - loops.begin();
  const auto rotate = [&](auto& v) {
    std::rotate(v.begin() + kept_end, v.begin() + (first_inner - loops.begin()),
                v.begin() + static_cast<std::ptrdiff_t>(inner));
  };
  const auto reduced_count = (first_inner - loops.begin()) - kept_end;
  for (AccessCode& a : accesses) rotate(a.strides);
  rotate(loops);
  code.kept = static_cast<std::uint32_t>(static_cast<std::size_t>(kept_end) + moved);
  code.reduced = static_cast<std::uint32_t>(reduced_count);
}

}  // namespace

void plan_loops(const Nest& nest, NestCode& code) {
  for (const NestNode& n : nest.nodes) code.point_cost += std::max<std::int64_t>(1, point_time_of(n));
  if (code.point_cost > kDear) code.block = kBlock / 4;
  std::vector<Loop> loops = ordered_loops(nest, code.mode);
  for (const Access* a : all_accesses(nest)) {
    AccessCode c{a->base, a->offset, static_cast<std::uint8_t>(size_of(a->dtype)), a->dtype, false, {}};
    for (const Loop& l : loops) c.strides.push_back(l.extent == 1 ? 0 : a->strides[l.source]);
    code.accesses.push_back(std::move(c));
  }
  const bool nothing = std::ranges::any_of(loops, [](const Loop& l) { return l.extent == 0; });
  coalesce(loops, code.accesses);
  if (code.mode == NestMode::Rows) {
    code.kept = static_cast<std::uint32_t>(std::ranges::count(loops, Role::Kept, &Loop::role));
    for (const Loop& l : loops) (l.role == Role::Inner ? code.row : code.rows) *= l.role == Role::Kept ? 1 : l.extent;
  } else if (code.mode == NestMode::Columns) {
    plan_columns(loops, code.accesses, code);
    code.rows = points(std::span(loops).subspan(code.kept, code.reduced));
    code.row = points(std::span(loops).subspan(code.kept + code.reduced));
    code.column_chunk = std::min(code.row, code.block);
  }
  for (const Loop& l : loops) code.extents.push_back(l.extent);
  if (nothing) {
    const bool columns = code.mode == NestMode::Columns;
    for (const Loop& l : loops) code.is_kept.push_back(l.role == Role::Kept || (columns && l.role == Role::Inner));
    code.mode = NestMode::Nothing;
    return;
  }
  plan_window(code, code.mode == NestMode::Columns ? code.kept + code.reduced - 1 : 0);
  for (AccessCode& a : code.accesses) {
    std::int64_t run = 1;
    a.contiguous = true;
    for (std::size_t d = code.extents.size(); d-- > code.q; run *= code.extents[d])
      a.contiguous = a.contiguous && (a.strides[d] == run || (d == code.q && code.chunk == 1));
  }
}

}  // namespace tfvm
