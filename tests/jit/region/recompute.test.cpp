// Values by pairs, computed by each reader, against the same nests run one by one.
#include "jit/region/recompute.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "items.h"
#include "jit/region/columns.h"
#include "jit/region/edit.h"
#include "jit/region/layouts.h"
#include "jit/region/share.h"
#include "reference.h"

namespace tfvm {

namespace {

constexpr std::int64_t kN = 70, kC = 3;
const std::vector<std::int64_t> kPairs{kN, kN}, kVectors{kN, kN, kC};
const Access kRow{0, DType::F32, 0, {kC, 0, 1}}, kColumn{0, DType::F32, 0, {0, kC, 1}};  // of x: f32[70,3]

Access vectors(std::uint32_t base) { return row_major(base, DType::F32, kVectors); }
Access pairs(std::uint32_t base) { return row_major(base, DType::F32, kPairs); }

FuseItem sum(const std::vector<std::int64_t>& dims, std::vector<std::int64_t> axes, const Access& in, Access out) {
  return item(reduce_nest(Op::reduce_sum, dims, axes, in, std::move(out)));
}

std::vector<std::vector<float>> run(const std::vector<FuseItem>& items, std::size_t bases) {
  std::vector<std::vector<float>> memory(bases, std::vector<float>(static_cast<std::size_t>(kN * kN * kC), -1));
  for (std::size_t i = 0; i < memory[0].size(); ++i) memory[0][i] = static_cast<float>(i * 37 % 101) / 8 - 5;
  std::vector<std::byte*> pointers;
  for (auto& m : memory) pointers.push_back(reinterpret_cast<std::byte*>(m.data()));
  for (const FuseItem& i : items)
    if (i.nest) reference_run(*i.nest, pointers.data());
  return memory;
}

void expect_same(const std::vector<FuseItem>& items, const std::vector<FuseItem>& fused,
                 const std::vector<std::uint8_t>& live) {
  const auto expected = run(items, live.size()), got = run(fused, live.size());
  for (std::size_t b = 0; b < live.size(); ++b) {
    if (live[b]) {
      ASSERT_EQ(std::memcmp(got[b].data(), expected[b].data(), sizeof(float) * got[b].size()), 0) << b;
    }
  }
}

// Forces of a pair potential: differences, squares, their sums, factors, products, sums over one of the two.
TEST(Recompute, PairsAreNeverStored) {
  std::vector<FuseItem> items;
  items.push_back(op(Op::sub, kVectors, {kRow, kColumn}, vectors(1)));
  items.push_back(op(Op::mul, kVectors, {vectors(1), vectors(1)}, vectors(2)));
  items.push_back(sum(kVectors, {2}, vectors(2), {3, DType::F32, 0, {kN, 1}}));
  items.push_back(op(Op::reciprocal, kPairs, {pairs(3)}, pairs(4)));
  items.push_back(op(Op::mul, kVectors, {vectors(1), {4, DType::F32, 0, {kN, 1, 0}}}, vectors(5)));
  items.push_back(sum(kVectors, {0}, vectors(5), {6, DType::F32, 0, {kC, 1}}));
  items.push_back(sum(kVectors, {1}, vectors(5), {7, DType::F32, 0, {kC, 1}}));
  items.push_back(sum(kPairs, {0, 1}, pairs(4), {8, DType::F32, 0, {}}));
  const std::vector<std::uint8_t> live{0, 0, 0, 0, 0, 0, 1, 1, 1};
  const auto fused = fuse(items, live);
  expect_same(items, fused, live);
  ASSERT_EQ(fused.size(), 2u);
  for (const FuseItem& i : fused) {
    EXPECT_TRUE(i.nest->stores.empty()) << text(*i.nest);
    EXPECT_EQ(i.nest->extents.size(), 2u) << text(*i.nest);  // coordinates are unrolled
    // Both sums over one of the two: the distance is the same from either.
    EXPECT_EQ(std::ranges::count(i.nest->nodes, Op::reciprocal, &NestNode::op), 1) << text(*i.nest);
  }
  EXPECT_EQ(fused[0].nest->reductions.size() + fused[1].nest->reductions.size(), 7u);
}

// An outer product that is read transposed is computed as its reader has its loops.
TEST(Recompute, OuterProductIsWrittenOnce) {
  std::vector<FuseItem> items;
  items.push_back(op(Op::mul, kPairs, {{0, DType::F32, 0, {kC, 0}}, {0, DType::F32, 1, {0, kC}}}, pairs(1)));
  items.push_back(item(copy_nest(kPairs, {1, DType::F32, 0, {1, kN}}, pairs(2))));
  const std::vector<std::uint8_t> live{0, 0, 1};
  const auto fused = fuse(items, live);
  expect_same(items, fused, live);
  ASSERT_EQ(fused.size(), 1u);
  EXPECT_EQ(text(*fused[0].nest),
            "extents [70, 70] reduced [0, 0]\n"
            "n0 = load f32 b0 + 0 [0, 3]\n"
            "n1 = load f32 b0 + 1 [3, 0]\n"
            "n2 = mul f32 n0 n1\n"
            "store n2 -> f32 b2 + 0 [70, 1]\n");
}

// Sums over all pairs and over one of the two: the first of the two nests to be run stores what the other needs.
TEST(Recompute, NestsOverTheSamePairsShareAValue) {
  std::vector<FuseItem> items;
  items.push_back(op(Op::sub, kPairs, {{0, DType::F32, 0, {kC, 0}}, {0, DType::F32, 0, {0, kC}}}, pairs(1)));
  items.push_back(op(Op::exp, kPairs, {pairs(1)}, pairs(2)));
  items.push_back(op(Op::neg, kPairs, {pairs(2)}, pairs(3)));
  items.push_back(sum(kPairs, {0, 1}, pairs(3), {4, DType::F32, 0, {}}));
  items.push_back(op(Op::mul, kPairs, {pairs(2), pairs(1)}, pairs(5)));
  items.push_back(sum(kPairs, {0}, pairs(5), {6, DType::F32, 0, {1}}));
  items.push_back(sum(kPairs, {0}, pairs(2), {8, DType::F32, 0, {1}}));
  items.push_back(op(Op::sin, {}, {{4, DType::F32, 0, {}}}, {7, DType::F32, 0, {}}));
  std::vector<std::uint8_t> live{0, 0, 0, 0, 0, 0, 1, 1, 1};
  auto fused = fuse(items, live);
  ASSERT_EQ(fused.size(), 3u);
  EXPECT_EQ(share(fused, 9, {}), std::vector<std::int64_t>{kN * kN * 4});
  live.push_back(0);
  expect_same(items, fused, live);
  ASSERT_EQ(fused.size(), 3u);
  EXPECT_EQ(text(*fused[0].nest),
            "extents [70, 70] reduced [1, 0]\n"
            "n0 = load f32 b0 + 0 [3, 0]\n"
            "n1 = load f32 b0 + 0 [0, 3]\n"
            "n2 = sub f32 n0 n1\n"
            "n3 = exp f32 n2\n"
            "n4 = mul f32 n3 n2\n"
            "store n3 -> f32 b9 + 0 [70, 1]\n"
            "reduce_sum n4 -> f32 b6 + 0 [0, 1]\n"
            "reduce_sum n3 -> f32 b8 + 0 [0, 1]\n");
  EXPECT_EQ(text(*fused[1].nest),
            "extents [70, 70] reduced [1, 1]\n"
            "n0 = load f32 b9 + 0 [70, 1]\n"
            "n1 = neg f32 n0\n"
            "reduce_sum n1 -> f32 b4 + 0 [0, 0]\n");
}

// A maker never comes before what it loads: here the sum over all pairs is the one that stores.
TEST(Recompute, SharedValuesKeepTheOrder) {
  std::vector<FuseItem> items;
  items.push_back(op(Op::sub, kPairs, {{0, DType::F32, 0, {kC, 0}}, {0, DType::F32, 0, {0, kC}}}, pairs(1)));
  items.push_back(op(Op::exp, kPairs, {pairs(1)}, pairs(2)));
  items.push_back(sum(kPairs, {0, 1}, pairs(2), {3, DType::F32, 0, {}}));
  items.push_back(op(Op::mul, kPairs, {pairs(2), {3, DType::F32, 0, {0, 0}}}, pairs(4)));
  items.push_back(op(Op::add, kPairs, {pairs(4), pairs(1)}, pairs(5)));
  items.push_back(sum(kPairs, {0}, pairs(5), {6, DType::F32, 0, {1}}));
  std::vector<std::uint8_t> live{0, 0, 0, 1, 0, 0, 1};
  auto fused = fuse(items, live);
  ASSERT_EQ(fused.size(), 2u);
  EXPECT_EQ(share(fused, 7, {}).size(), 1u);
  live.push_back(0);
  expect_same(items, fused, live);
  EXPECT_EQ(fused[0].nest->stores.size(), 1u);
  EXPECT_EQ(fused[0].nest->reduced, (std::vector<std::uint8_t>{1, 1}));
}

// What is cheaper than memory and what is larger than caches is computed by both.
TEST(Recompute, WhatIsNotShared) {
  const auto shared = [](std::int64_t n, Op o) {
    const std::vector<std::int64_t> dims{n, n};
    const Access difference = row_major(1, DType::F32, dims), value = row_major(2, DType::F32, dims);
    std::vector<FuseItem> items;
    items.push_back(op(Op::sub, dims, {{0, DType::F32, 0, {1, 0}}, {0, DType::F32, 0, {0, 1}}}, difference));
    items.push_back(op(o, dims, {difference}, value));
    items.push_back(sum(dims, {0, 1}, value, {3, DType::F32, 0, {}}));
    items.push_back(sum(dims, {0}, value, {4, DType::F32, 0, {1}}));
    auto fused = fuse(items, std::vector<std::uint8_t>{0, 0, 0, 1, 1});
    return share(fused, 5, {}).size();
  };
  EXPECT_EQ(shared(kN, Op::exp), 1u);
  EXPECT_EQ(shared(kN, Op::neg), 0u);
  EXPECT_EQ(shared(2100, Op::exp), 0u);
}

// Coordinates that a row goes along are copied once for all rows, and for all nests; what lanes are of is not.
TEST(Recompute, ColumnsAreCopied) {
  const std::vector<std::int64_t> dims{300, 300};
  std::vector<FuseItem> items;
  for (std::uint32_t k = 0; k < 3; ++k) {
    items.push_back(op(Op::sub, dims, {{0, DType::F32, 1, {kC, 0}}, {0, DType::F32, 1, {0, kC}}},
                       row_major(1 + k, DType::F32, dims)));
    items.push_back(sum(dims, {k == 1 ? 0 : 1}, row_major(1 + k, DType::F32, dims), {4 + k, DType::F32, 0, {1}}));
  }
  const std::vector<std::uint8_t> live{0, 0, 0, 0, 1, 1, 1};
  auto fused = fuse(items, live);
  ASSERT_EQ(fused.size(), 2u);
  EXPECT_EQ(copy_columns(fused, 7), std::vector<std::int64_t>{300 * 4});
  ASSERT_EQ(fused.size(), 3u);
  EXPECT_EQ(text(*fused[0].nest),
            "extents [300] reduced [0]\n"
            "n0 = load f32 b0 + 1 [3]\n"
            "store n0 -> f32 b7 + 0 [1]\n");
  EXPECT_EQ(text(*fused[1].nest),
            "extents [300, 300] reduced [0, 1]\n"
            "n0 = load f32 b0 + 1 [3, 0]\n"
            "n1 = load f32 b7 + 0 [0, 1]\n"
            "n2 = sub f32 n0 n1\n"
            "reduce_sum n2 -> f32 b4 + 0 [1, 0]\n"
            "reduce_sum n2 -> f32 b6 + 0 [1, 0]\n");
  EXPECT_EQ(text(*fused[2].nest).find("b7"), std::string::npos) << text(*fused[2].nest);
}

// t = x * x, u = t + t over [j]; y = s * t over [3, j]; v = u - x, reversed: one step each but for the first.
TEST(Recompute, SmallValuesAreNoSteps) {
  const std::vector<std::int64_t> row{kN}, rows{3, kN};
  const auto access = [](std::uint32_t base, std::int64_t offset, std::vector<std::int64_t> strides) {
    return Access{base, DType::F32, offset, std::move(strides)};
  };
  std::vector<FuseItem> items;
  items.push_back(op(Op::mul, row, {access(0, 0, {1}), access(0, 0, {1})}, access(1, 0, {1})));
  items.push_back(op(Op::mul, rows, {access(0, 7, {kN, 1}), access(1, 0, {0, 1})}, access(2, 0, {kN, 1})));
  items.push_back(op(Op::sub, row, {access(1, kN - 1, {-1}), access(0, 0, {1})}, access(3, 0, {1})));
  const std::vector<std::uint8_t> live{0, 0, 1, 1};
  std::vector<FuseItem> less = items;
  recompute_small(less, live);
  EXPECT_EQ(less.size(), 2u);
  expect_same(items, less, live);

  std::vector<FuseItem> stays = items;  // a result, and what a kernel reads
  recompute_small(stays, std::vector<std::uint8_t>{0, 1, 1, 1});
  EXPECT_EQ(stays.size(), 3u);
  stays.push_back({std::nullopt, {1}, {4}, {}});
  recompute_small(stays, std::vector<std::uint8_t>{0, 0, 1, 1, 1});
  EXPECT_EQ(stays.size(), 4u);

  std::vector<FuseItem> large = items;  // beyond what a step costs
  large[1] = op(Op::mul, {30, kN}, {access(0, 7, {kN, 1}), access(1, 0, {0, 1})}, access(2, 0, {kN, 1}));
  recompute_small(large, live);
  EXPECT_EQ(large.size(), 3u);
}

// Where `first` <= the loop's index < `last`: a node of the nest.
std::uint32_t within(Nest& n, std::size_t loop, std::int64_t first, std::int64_t last) {
  Access along{0, DType::I32, 0, std::vector<std::int64_t>(n.extents.size(), 0)};
  along.strides[loop] = 1;
  const auto add = [&](NestNodeKind kind, Op op, DType d, std::array<std::uint32_t, 3> in, std::int64_t bits = 0) {
    NestNode node;
    node.kind = kind;
    node.op = op;
    node.dtype = d;
    node.in = in;
    node.bits = static_cast<std::uint32_t>(bits);
    if (kind == NestNodeKind::Iota) node.access = add_access(n, along);
    return add_node(n, node);
  };
  const std::array none{kNoNode, kNoNode, kNoNode};
  const std::uint32_t at = add(NestNodeKind::Iota, Op::add, DType::I32, none);
  const std::uint32_t from = add(NestNodeKind::Constant, Op::add, DType::I32, none, first);
  const std::uint32_t to = add(NestNodeKind::Constant, Op::add, DType::I32, none, last);
  const std::uint32_t a = add(NestNodeKind::Op, Op::ge, DType::Bool, {at, from, kNoNode});
  const std::uint32_t b = add(NestNodeKind::Op, Op::lt, DType::Bool, {at, to, kNoNode});
  return add(NestNodeKind::Op, Op::and_, DType::Bool, {a, b, kNoNode});
}

// What is loaded under a mask at the points of a larger space, as the element of a pad.
FuseItem padded(const std::vector<std::int64_t>& dims, const Access& in,
                std::vector<std::pair<std::int64_t, std::int64_t>> inside, const Access& out) {
  Nest n;
  n.extents = dims;
  n.reduced.assign(dims.size(), 0);
  NestNode load;
  load.kind = NestNodeKind::Load;
  for (std::size_t d = 0; d < inside.size(); ++d) {
    if (inside[d].second == 0) continue;
    const std::uint32_t mask = within(n, d, inside[d].first, inside[d].second);
    NestNode both;
    both.op = Op::and_;
    both.dtype = DType::Bool;
    both.in = {load.in[0], mask, kNoNode};
    load.in[0] = load.in[0] == kNoNode ? mask : add_node(n, both);
  }
  load.access = add_access(n, in);
  n.stores.push_back({add_node(n, load), out});
  return item(std::move(n));
}

// t = 1 / x over [kN], u its pad by 2 and 3, v the pad of t read backwards; the same of a matrix by rows and columns.
TEST(Recompute, WhatIsPaddedIsNoStep) {
  const auto access = [](std::uint32_t base, std::int64_t offset, std::vector<std::int64_t> strides) {
    return Access{base, DType::F32, offset, std::move(strides)};
  };
  std::vector<FuseItem> items;
  items.push_back(op(Op::reciprocal, {kN}, {access(0, 0, {1})}, access(1, 0, {1})));
  items.push_back(padded({kN + 5}, access(1, -2, {1}), {{2, kN + 2}}, access(2, 0, {1})));
  items.push_back(padded({kN + 5}, access(1, kN + 1, {-1}), {{2, kN + 2}}, access(3, 0, {1})));
  const std::vector<std::uint8_t> live{0, 0, 1, 1};
  std::vector<FuseItem> less = items;
  recompute_small(less, live);
  EXPECT_EQ(less.size(), 2u);
  expect_same(items, less, live);

  // Without a mask of its columns, rows are met where it begins before the first or ends behind the last.
  for (const bool is_masked : {true, false}) {
    std::vector<FuseItem> matrix;
    matrix.push_back(op(Op::reciprocal, {5, 7}, {access(0, 0, {7, 1})}, access(1, 0, {7, 1})));
    matrix.push_back(padded({8, 9}, access(1, -15, {7, 1}), {{2, 7}, {1, is_masked ? 8 : 0}}, access(2, 0, {9, 1})));
    if (!is_masked) matrix[1] = padded({8, 7}, access(1, -13, {7, 1}), {{2, 6}}, access(2, 0, {7, 1}));
    std::vector<FuseItem> fewer = matrix;
    recompute_small(fewer, std::vector<std::uint8_t>{0, 0, 1});
    EXPECT_EQ(fewer.size(), is_masked ? 1u : 2u);
    expect_same(matrix, fewer, {0, 0, 1});
  }
}

TEST(Recompute, RandomProgramsKeepTheirResults) {
  std::mt19937_64 rng(3);
  std::size_t shared = 0;
  for (int k = 0; k < 60; ++k) {
    std::vector<FuseItem> items;
    std::vector<std::uint8_t> live{0};
    std::vector<std::uint32_t> of_vectors, of_pairs;
    const auto define = [&](bool lives) {
      live.push_back(lives);
      return static_cast<std::uint32_t>(live.size() - 1);
    };
    const auto read = [&]() -> Access {
      if (!of_pairs.empty() && rng() % 3 == 0) {
        const std::uint32_t b = of_pairs[rng() % of_pairs.size()];
        return rng() % 2 ? Access{b, DType::F32, 0, {kN, 1, 0}} : Access{b, DType::F32, 0, {1, kN, 0}};
      }
      if (of_vectors.empty() || rng() % 4 == 0) return rng() % 2 ? kRow : kColumn;
      const std::uint32_t b = of_vectors[rng() % of_vectors.size()];
      switch (rng() % 4) {
        case 0:  // the other way round
          return {b, DType::F32, 0, {kC, kN * kC, 1}};
        case 1:  // reversed
          return {b, DType::F32, kN * kN * kC - 1, {-kN * kC, -kC, -1}};
        case 2:  // as if it had other dims
          return {b, DType::F32, 0, {kC, kC, 1}};
        default:
          return vectors(b);
      }
    };
    for (int i = 0; i < 12; ++i) {
      switch (rng() % 8) {
        case 0: {
          const std::uint32_t b = define(rng() % 6 == 0);
          items.push_back(sum(kVectors, {2}, read(), {b, DType::F32, 0, {kN, 1}}));
          of_pairs.push_back(b);
          break;
        }
        case 1:
          items.push_back(
              sum(kVectors, {static_cast<std::int64_t>(rng() % 2)}, read(), {define(true), DType::F32, 0, {kC, 1}}));
          break;
        case 2:
          if (of_pairs.empty()) break;
          items.push_back(op(Op::sin, kPairs, {pairs(of_pairs.back())}, pairs(define(false))));
          of_pairs.push_back(static_cast<std::uint32_t>(live.size() - 1));
          break;
        case 3: {
          if (of_pairs.empty()) break;
          const Access from = pairs(of_pairs[rng() % of_pairs.size()]);
          const std::int64_t axis = static_cast<std::int64_t>(rng() % 3);
          items.push_back(axis == 2 ? sum(kPairs, {0, 1}, from, {define(true), DType::F32, 0, {}})
                                    : sum(kPairs, {axis}, from, {define(true), DType::F32, 0, {1}}));
          break;
        }
        default: {
          const std::uint32_t b = define(rng() % 6 == 0);
          const Op ops[] = {Op::add, Op::max, Op::sub, Op::abs};
          const Op o = ops[rng() % 4];
          items.push_back(o == Op::abs ? op(o, kVectors, {read()}, vectors(b))
                                       : op(o, kVectors, {read(), read()}, vectors(b)));
          of_vectors.push_back(b);
        }
      }
    }
    auto fused = fuse(items, live);
    choose_layouts(fused, live);
    const auto made = share(fused, static_cast<std::uint32_t>(live.size()), {});
    shared += made.size();
    live.resize(live.size() + made.size(), 0);
    const auto columns = copy_columns(fused, static_cast<std::uint32_t>(live.size()));
    live.resize(live.size() + columns.size(), 0);
    expect_same(items, fused, live);
  }
  EXPECT_GT(shared, 0u);
}

}  // namespace

}  // namespace tfvm
