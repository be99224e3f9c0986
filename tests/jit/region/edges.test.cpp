// Nests that are cut where masks change, against themselves whole.
#include "jit/region/edges.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "jit/region/build.h"
#include "jit/region/edit.h"
#include "random_nest.h"
#include "reference.h"

namespace tfvm {

namespace {

using Rng = std::mt19937_64;

// Before all nodes a mask that changes once along a loop, and what uses it: a load, and a choice that is stored.
void add_edge(Nest& n, Rng& rng) {
  if (n.extents.empty()) return;
  const std::size_t d = rng() % n.extents.size();
  for (NestNode& node : n.nodes)
    for (std::uint32_t& in : node.in) in += in != kNoNode ? 3 : 0;
  for (Store& s : n.stores) s.node += 3;
  for (Reduction& r : n.reductions) r.node += 3;
  NestNode place, bound, mask;
  place.kind = NestNodeKind::Iota;
  place.dtype = bound.dtype = rng() % 2 ? DType::I32 : DType::I64;
  place.access = static_cast<std::uint32_t>(n.accesses.size());
  Access a{0, place.dtype, static_cast<std::int64_t>(rng() % 3), {}};
  for (std::size_t k = 0; k < n.extents.size(); ++k) a.strides.push_back(k == d);
  n.accesses.push_back(a);
  bound.kind = NestNodeKind::Constant;
  const auto at = static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n.extents[d] + 3)) - 1;
  bound.bits = bound.dtype == DType::I32 ? static_cast<std::uint32_t>(at) : static_cast<std::uint64_t>(at);
  constexpr Op kSides[] = {Op::lt, Op::le, Op::ge, Op::gt};
  mask.op = kSides[rng() % 4];
  mask.dtype = DType::Bool;
  mask.in = {0, 1, kNoNode};
  n.nodes.insert(n.nodes.begin(), {place, bound, mask});
  for (std::uint32_t k = 3; k < n.nodes.size(); ++k)
    if (NestNode& node = n.nodes[k]; node.kind == NestNodeKind::Load && node.in[0] == kNoNode && rng() % 2)
      node.in[0] = 2;
  for (Store& s : n.stores) {
    NestNode zero, both;
    zero.kind = NestNodeKind::Constant;
    zero.dtype = both.dtype = n.nodes[s.node].dtype;
    both.op = Op::select;
    const auto none = static_cast<std::uint32_t>(n.nodes.size());
    n.nodes.push_back(zero);
    both.in = {2, s.node, none};
    if (rng() % 2) std::swap(both.in[1], both.in[2]);
    if (zero.dtype == DType::Bool && rng() % 2)
      both = {.dtype = DType::Bool, .op = Op::and_, .in = {2, s.node, kNoNode}};
    s.node = none + 1;
    n.nodes.push_back(both);
  }
}

std::vector<std::vector<std::byte>> run(const std::vector<Nest>& nests, std::vector<std::vector<std::byte>> memory) {
  std::vector<std::byte*> bases;
  for (auto& m : memory) bases.push_back(m.data());
  for (const Nest& n : nests) reference_run(n, bases.data());
  return memory;
}

TEST(Edges, PartsHaveTheBitsOfTheWhole) {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    RandomNest made = random_nest(rng, {.reduce = seed % 2 == 0});
    if (std::ranges::any_of(made.nest.nodes, [](const NestNode& n) { return is_complex(n.dtype); })) continue;
    for (std::uint64_t k = rng() % 3 + 1; k > 0; --k) add_edge(made.nest, rng);
    const std::vector<Nest> parts = cut_at_edges(made.nest, 0);
    cut += parts.size() > 1;
    ASSERT_EQ(run({made.nest}, made.memory), run(parts, made.memory)) << seed << '\n' << text(made.nest);
  }
  EXPECT_GT(cut, 500);
}

// y[i, j] = x[i - 1, j] + x[i, j - 1], and 0 beyond the edges.
Nest stencil(std::int64_t n) {
  const std::vector<std::int64_t> dims{n, n};
  Nest s = elementwise_nest(Op::add, DType::F32, dims,
                            std::vector<Access>{{0, DType::F32, -n, {n, 1}}, {0, DType::F32, -1, {n, 1}}},
                            row_major(1, DType::F32, dims));
  for (std::int64_t d : {1, 0}) {
    for (NestNode& node : s.nodes)
      for (std::uint32_t& in : node.in) in += in != kNoNode ? 3 : 0;
    s.stores[0].node += 3;
    s.accesses.push_back({0, DType::I32, 0, {1 - d, d}});
    NestNode place, bound, mask;
    place.kind = NestNodeKind::Iota;
    bound.kind = NestNodeKind::Constant;
    place.dtype = bound.dtype = DType::I32;
    place.access = static_cast<std::uint32_t>(s.accesses.size() - 1);
    bound.bits = 1;
    mask = {.dtype = DType::Bool, .op = Op::ge, .in = {0, 1, kNoNode}};
    s.nodes.insert(s.nodes.begin(), {place, bound, mask});
  }
  s.nodes[6].in[0] = 2;
  s.nodes[7].in[0] = 5;
  return s;
}

TEST(Edges, TheMainPartHasNoMasks) {
  const std::vector<Nest> parts = cut_at_edges(stencil(100), 60000);
  ASSERT_EQ(parts.size(), 3u) << text(stencil(100));
  const Nest& main = *std::ranges::max_element(parts, {}, [](const Nest& n) { return points(n); });
  EXPECT_EQ(main.extents, (std::vector<std::int64_t>{99, 99}));
  EXPECT_EQ(main.nodes.size(), 3u) << text(main);
  EXPECT_EQ(cut_at_edges(stencil(8), 60000).size(), 1u);  // not worth it
}

}  // namespace

}  // namespace tfvm
