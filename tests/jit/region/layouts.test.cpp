// Values in the order of those who load them, against the same nests as they were.
#include "jit/region/layouts.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "items.h"
#include "jit/region/edit.h"
#include "reference.h"

namespace tfvm {

namespace {

const std::vector<std::int64_t> kMade{5, 7}, kRead{7, 5};
const Access kAcross{1, DType::F32, 0, {1, 7}};  // of what is made, over kRead

// t[i, j] = x[i] + x[5 + j]
FuseItem maker(std::uint32_t base = 1) {
  return op(Op::add, kMade, {{0, DType::F32, 0, {1, 0}}, {0, DType::F32, 5, {0, 1}}},
            row_major(base, DType::F32, kMade));
}

std::vector<std::vector<float>> run(const std::vector<FuseItem>& items, std::size_t bases) {
  std::vector<std::vector<float>> memory(bases, std::vector<float>(1000, -1));
  for (std::size_t i = 0; i < memory[0].size(); ++i) memory[0][i] = static_cast<float>(i * 37 % 101) / 8 - 5;
  std::vector<std::byte*> pointers;
  for (auto& m : memory) pointers.push_back(reinterpret_cast<std::byte*>(m.data()));
  for (const FuseItem& i : items)
    if (i.nest) reference_run(*i.nest, pointers.data());
  return memory;
}

// The items with the layouts that are chosen, which give the same.
std::vector<FuseItem> chosen(const std::vector<FuseItem>& items, const std::vector<std::uint8_t>& live) {
  std::vector<FuseItem> after = items;
  choose_layouts(after, live);
  const auto expected = run(items, live.size()), got = run(after, live.size());
  for (std::size_t b = 0; b < live.size(); ++b) {
    if (live[b]) {
      EXPECT_EQ(std::memcmp(got[b].data(), expected[b].data(), sizeof(float) * got[b].size()), 0) << b;
    }
  }
  return after;
}

std::string text_of(const std::vector<FuseItem>& items) {
  std::string s;
  for (const FuseItem& i : items) s += i.nest ? text(*i.nest) : "opaque\n";
  return s;
}

TEST(Layouts, GoAsTheirReadersDo) {
  const auto after = chosen({maker(), item(copy_nest(kRead, kAcross, row_major(2, DType::F32, kRead)))}, {0, 0, 1});
  EXPECT_EQ(text_of(after),
            "extents [7, 5] reduced [0, 0]\n"
            "n0 = load f32 b0 + 0 [0, 1]\n"
            "n1 = load f32 b0 + 5 [1, 0]\n"
            "n2 = add f32 n0 n1\n"
            "store n2 -> f32 b1 + 0 [5, 1]\n"
            "extents [7, 5] reduced [0, 0]\n"
            "n0 = load f32 b1 + 0 [5, 1]\n"
            "store n0 -> f32 b2 + 0 [5, 1]\n");
}

// Rows 1 to 6 of what is read are those that were made, the others are zeros: the place of row 0 is no element, and
// none takes it.
TEST(Layouts, PlacesUnderAMask) {
  const std::vector<std::int64_t> dims{8, 5};
  Nest n = copy_nest(dims, {1, DType::F32, -1, {1, 7}}, row_major(2, DType::F32, dims));
  NestNode i, one, mask;
  i.kind = NestNodeKind::Iota, i.dtype = DType::I32, i.access = add_access(n, {0, DType::I32, 0, {1, 0}});
  one.kind = NestNodeKind::Constant, one.dtype = DType::I32, one.bits = 1;
  n.nodes.insert(n.nodes.begin(), {i, one});
  mask.op = Op::ge, mask.dtype = DType::Bool, mask.in = {0, 1, kNoNode};
  n.nodes.insert(n.nodes.begin() + 2, mask);
  n.nodes[3].in[0] = 2;
  n.stores[0].node = 3;
  const auto after = chosen({maker(), item(n)}, {0, 0, 1});
  EXPECT_NE(text_of(after).find("load f32 b1 + -5 [5, 1] if n2"), std::string::npos) << text_of(after);
  n.nodes[3].in[0] = kNoNode;  // row 0 takes elements of the row before, which none of the two loops says
  n.accesses[n.nodes[3].access].offset = 0;
  const std::string before = text_of({maker(), item(n)});
  EXPECT_EQ(text_of(chosen({maker(), item(n)}, {0, 0, 1})), before);
}

TEST(Layouts, WhatStaysAsItIs) {
  const FuseItem across = item(copy_nest(kRead, kAcross, row_major(2, DType::F32, kRead)));
  const auto stays = [](const std::vector<FuseItem>& items, const std::vector<std::uint8_t>& live) {
    EXPECT_EQ(text_of(chosen(items, live)), text_of(items));
  };
  stays({maker(), across}, {0, 1, 1});  // somebody else's
  FuseItem kernel;
  kernel.reads = {1};
  stays({maker(), across, kernel}, {0, 0, 1});
  kernel.reads = {}, kernel.writes = {1};
  stays({kernel, maker(), across}, {0, 0, 1});
  const FuseItem along = item(copy_nest(kMade, row_major(1, DType::F32, kMade), row_major(3, DType::F32, kMade)));
  stays({maker(), across, along}, {0, 0, 1, 1});  // as many go the other way
  stays({maker(),
         item(reduce_nest(Op::reduce_sum, kRead, std::vector<std::int64_t>{1}, kAcross, {2, DType::F32, 0, {1}}))},
        {0, 0, 1});
  stays({maker(), item(copy_nest(std::vector<std::int64_t>{5}, {1, DType::F32, 0, {8}}, {2, DType::F32, 0, {1}}))},
        {0, 0, 1});  // the diagonal
  stays({maker(),
         item(copy_nest(std::vector<std::int64_t>{4, 9}, {1, DType::F32, 0, {1, 3}}, {2, DType::F32, 0, {9, 1}}))},
        {0, 0, 1});  // as if it had other dims
}

TEST(Layouts, RandomReadersSeeTheSame) {
  std::mt19937_64 rng(5);
  const auto any = [&](std::int64_t n) { return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n)); };
  int turned = 0;
  for (int k = 0; k < 400; ++k) {
    const std::vector<std::int64_t> made{1 + any(5), 1 + any(6), 1 + any(7)};
    std::vector<FuseItem> items;
    items.push_back(op(Op::add, made,
                       {{0, DType::F32, any(9), {any(3), any(3), any(3)}}, {0, DType::F32, 0, {0, any(5), 1}}},
                       row_major(1, DType::F32, made)));
    std::vector<std::uint8_t> live{0, 0};
    for (std::int64_t r = 1 + any(2); r > 0; --r) {
      std::vector<std::int64_t> dims(3), order{0, 1, 2};
      std::ranges::shuffle(order, rng);
      Access a{1, DType::F32, 0, {0, 0, 0}};
      const Access whole = row_major(1, DType::F32, made);
      for (std::size_t d = 0; d < 3; ++d) {  // a slice, some of it backwards
        const auto from = static_cast<std::size_t>(order[d]);
        const std::int64_t first = any(made[from]), step = 1 + any(2);
        dims[d] = 1 + any((made[from] - first + step - 1) / step);
        a.strides[d] = whole.strides[from] * step;
        a.offset += whole.strides[from] * first;
        if (rng() % 3 != 0) continue;
        a.offset += a.strides[d] * (dims[d] - 1);
        a.strides[d] = -a.strides[d];
      }
      const auto base = static_cast<std::uint32_t>(live.size());
      items.push_back(item(copy_nest(dims, a, row_major(base, DType::F32, dims))));
      live.push_back(1);
    }
    turned += text_of(chosen(items, live)) != text_of(items);
  }
  EXPECT_GT(turned, 30);
}

}  // namespace

}  // namespace tfvm
