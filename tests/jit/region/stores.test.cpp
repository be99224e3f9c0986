// What nests store for later ones, against the same nests as they were.
#include "jit/region/stores.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "items.h"
#include "jit/region/edit.h"
#include "reference.h"

namespace tfvm {

namespace {

const std::vector<std::int64_t> kDims{4, 6};
constexpr std::uint32_t kBases = 12;
using Live = std::vector<std::uint8_t>;

Access at(std::uint32_t base) { return row_major(base, DType::F32, kDims); }
FuseItem op(Op o, const std::vector<std::uint32_t>& in, std::uint32_t out) {
  std::vector<Access> from;
  for (std::uint32_t base : in) from.push_back(at(base));
  return op(o, kDims, from, at(out));
}

Live live(std::initializer_list<std::uint32_t> bases) {
  Live l(kBases, 0);
  for (std::uint32_t b : bases) l[b] = 1;
  return l;
}

// Ops as one item that stores `out`.
FuseItem fused(std::vector<FuseItem> ops, std::initializer_list<std::uint32_t> out) {
  std::vector<FuseItem> items = fuse(std::move(ops), live(out), {.recompute = false});
  EXPECT_EQ(items.size(), 1u);
  return std::move(items[0]);
}

std::vector<std::vector<float>> run(const std::vector<FuseItem>& items, std::size_t bases) {
  std::vector<std::vector<float>> memory(bases, std::vector<float>(24, -1));
  for (std::size_t b = 0; b < kBases; ++b)
    for (std::size_t i = 0; i < 24; ++i) memory[b][i] = static_cast<float>((i + 7 * b) * 37 % 101) / 32 - 1.5f;
  std::vector<std::byte*> pointers;
  for (auto& m : memory) pointers.push_back(reinterpret_cast<std::byte*>(m.data()));
  for (const FuseItem& i : items)
    if (i.nest) reference_run(*i.nest, pointers.data());
  return memory;
}

std::string stores_of(const FuseItem& item) {
  std::string s;
  for (const Store& store : item.nest->stores) s += "b" + std::to_string(store.to.base) + " ";
  return s;
}
std::string loads_of(const FuseItem& item) {
  std::vector<std::uint32_t> bases;
  for (const Access& a : item.nest->accesses) bases.push_back(a.base);
  std::ranges::sort(bases);
  std::string s;
  for (std::uint32_t b : bases) s += "b" + std::to_string(b) + " ";
  return s;
}

// The items with the stores that are chosen, which give the same.
std::vector<FuseItem> chosen(const std::vector<FuseItem>& items, const Live& live_out, std::size_t added) {
  std::vector<FuseItem> after = items;
  const std::vector<std::int64_t> bytes = choose_stores(after, kBases, live_out, {.large = 1});
  EXPECT_EQ(bytes.size(), added);
  for (std::int64_t b : bytes) EXPECT_EQ(b, 24 * 4);
  const auto expected = run(items, kBases), got = run(after, kBases + bytes.size());
  for (std::size_t b = 0; b < kBases; ++b)
    if (live_out[b]) {
      EXPECT_EQ(std::memcmp(got[b].data(), expected[b].data(), 24 * sizeof(float)), 0) << b;
    }
  return after;
}

// t = tanh x; a = t + t; d = x - t; b = d * a
FuseItem forward() {
  return fused({op(Op::tanh, {0}, 1), op(Op::add, {1, 1}, 2), op(Op::sub, {0, 1}, 3), op(Op::mul, {3, 2}, 4)}, {2, 4});
}
FuseItem backward() { return fused({op(Op::mul, {2, 5}, 6), op(Op::mul, {4, 6}, 7)}, {7}); }

TEST(Stores, AreWhatOthersFollowFrom) {
  const auto after = chosen({forward(), backward()}, live({7}), 1);
  EXPECT_EQ(stores_of(after[0]), "b12 ");  // t, from which and x the readers compute
  EXPECT_EQ(loads_of(after[1]), "b0 b5 b12 ");
}

TEST(Stores, OfResultsAreThereAnyway) {
  const auto after = chosen({forward(), backward()}, live({2, 4, 7}), 0);
  EXPECT_EQ(stores_of(after[0]), "b2 b4 ");
  EXPECT_EQ(loads_of(after[1]), "b2 b4 b5 ");
}

TEST(Stores, OfStepsThatAreNoNestsStay) {
  FuseItem opaque;
  opaque.reads = {4};
  const auto after = chosen({forward(), backward(), opaque}, live({7}), 0);
  EXPECT_EQ(stores_of(after[0]), "b2 b4 ");
}

TEST(Stores, ReadAtOtherPointsStay) {
  const FuseItem reversed = item(copy_nest(kDims, {4, DType::F32, 23, {-6, -1}}, at(8)));
  const auto after = chosen({forward(), backward(), reversed}, live({7, 8}), 0);
  EXPECT_EQ(stores_of(after[0]), "b2 b4 ");
}

// y = x + bias is read again from x; the bias is small.
TEST(Stores, OfWhatIsLoadedAreNone) {
  FuseItem sum = op(Op::add, kDims, {at(0), {1, DType::F32, 0, {0, 0}}}, at(2));
  const auto after = chosen(
      {fused({std::move(sum), op(Op::exp, {2}, 3)}, {2, 3}), fused({op(Op::mul, {2, 3}, 4)}, {4})}, live({4}), 0);
  EXPECT_EQ(stores_of(after[0]), "b3 ");
  EXPECT_EQ(loads_of(after[1]), "b0 b1 b3 ");
}

// The sum of two arrays is one array to load.
TEST(Stores, OfTwoArraysStay) {
  const auto after =
      chosen({fused({op(Op::add, {0, 1}, 2), op(Op::exp, {2}, 3)}, {2, 3}), fused({op(Op::mul, {2, 3}, 4)}, {4})},
             live({3, 4}), 0);
  EXPECT_EQ(stores_of(after[0]), "b2 b3 ");
}

TEST(Stores, OfSmallNestsStay) {
  std::vector<FuseItem> items{forward(), backward()};
  EXPECT_TRUE(choose_stores(items, kBases, live({7}), {.large = 25}).empty());
  EXPECT_EQ(stores_of(items[0]), "b2 b4 ");
}

TEST(Stores, Random) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::tanh, Op::abs, Op::max, Op::exp};
  std::size_t changed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint32_t> from{0, 1};
    const auto ops = [&](std::uint32_t first, std::uint32_t count) {
      std::vector<FuseItem> list;
      for (std::uint32_t out = first; out < first + count; ++out) {
        const Op o = kOps[below(std::size(kOps))];
        const bool is_unary = o == Op::tanh || o == Op::abs || o == Op::exp;
        std::vector<std::uint32_t> in{from[below(from.size())]};
        if (!is_unary) in.push_back(from[below(from.size())]);
        list.push_back(op(o, in, out));
        from.push_back(out);
      }
      return list;
    };
    std::vector<FuseItem> items;
    Live keep(kBases, 1);  // while they are fused
    for (std::uint32_t first = 2; first < kBases; first += first == 2 ? 5u : 3u)
      for (FuseItem& i : fuse(ops(first, first == 2           ? 5
                                         : first + 3 > kBases ? kBases - first
                                                              : 3),
                              keep, {.recompute = false}))
        items.push_back(std::move(i));
    Live out(kBases, 0);
    for (std::uint32_t b = 2; b < kBases; ++b) out[b] = b >= 9 || below(4) == 0;
    std::vector<FuseItem> after = items;
    const std::size_t added = choose_stores(after, kBases, out, {.large = 1}).size();
    const auto expected = run(items, kBases), got = run(after, kBases + added);
    for (std::size_t b = 0; b < kBases; ++b)
      if (out[b]) {
        ASSERT_EQ(std::memcmp(got[b].data(), expected[b].data(), 24 * sizeof(float)), 0) << round;
      }
    for (std::size_t i = 0; i < items.size(); ++i) changed += stores_of(items[i]) != stores_of(after[i]);
  }
  EXPECT_GT(changed, 20u);
}

}  // namespace

}  // namespace tfvm
