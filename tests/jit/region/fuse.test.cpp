// Fusion against the same nests run one by one.
#include "jit/region/fuse.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "jit/region/build.h"
#include "reference.h"

namespace tfvm {

namespace {

constexpr std::int64_t kRows = 5, kColumns = 7;
const std::vector<std::int64_t> kDims{kRows, kColumns};

// A random straight-line program: values (bases) are f32[5,7] row-major, or their reductions; some items are opaque
// reads.
struct Program {
  std::vector<FuseItem> items;
  std::size_t bases = 0;
  std::vector<std::uint8_t> live_out;
};

Program random_program(std::mt19937_64& rng) {
  Program p;
  std::vector<std::uint32_t> full{0, 1}, reduced;  // bases of full shape; of f32[5]
  p.bases = 2;
  const auto any = [&](const std::vector<std::uint32_t>& v) { return v[rng() % v.size()]; };
  const auto read = [&]() -> Access {
    if (!reduced.empty() && rng() % 4 == 0) return {any(reduced), DType::F32, 0, {1, 0}};
    Access a = row_major(any(full), DType::F32, kDims);
    if (rng() % 6 == 0) a = {a.base, DType::F32, kRows * kColumns - 1, {-kColumns, -1}};  // another point than its own
    return a;
  };
  for (int k = 0; k < 12; ++k) {
    const auto base = static_cast<std::uint32_t>(p.bases++);
    FuseItem item;
    const auto kind = rng() % 8;
    if (kind == 0) {
      const std::int64_t axes[] = {1};
      item.nest =
          reduce_nest(rng() % 2 ? Op::reduce_sum : Op::reduce_max, kDims, axes, read(), {base, DType::F32, 0, {1}});
      reduced.push_back(base);
    } else if (kind == 1) {
      item.reads = {any(full)};  // writes nothing, so any place in order is right
      p.bases--;
    } else if (kind == 2) {
      item.nest = iota_nest(kDims, 1, row_major(base, DType::F32, kDims));
      full.push_back(base);
    } else {
      const Access in[] = {read(), read()};
      item.nest =
          elementwise_nest(rng() % 2 ? Op::add : Op::max, DType::F32, kDims, in, row_major(base, DType::F32, kDims));
      full.push_back(base);
    }
    p.items.push_back(std::move(item));
  }
  p.live_out.assign(p.bases, 0);
  for (std::size_t b = 2; b < p.bases; ++b) p.live_out[b] = rng() % 3 == 0;
  return p;
}

std::vector<std::vector<float>> run(const std::vector<FuseItem>& items, std::size_t bases) {
  std::vector<std::vector<float>> memory(bases, std::vector<float>(kRows * kColumns, -1));
  for (int b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < memory[0].size(); ++i)
      memory[static_cast<std::size_t>(b)][i] = static_cast<float>(i * (b + 2)) - 20;
  std::vector<std::byte*> pointers;
  for (auto& m : memory) pointers.push_back(reinterpret_cast<std::byte*>(m.data()));
  for (const FuseItem& i : items)
    if (i.nest) reference_run(*i.nest, pointers.data());
  return memory;
}

TEST(Fuse, ProgramsKeepTheirResults) {
  std::mt19937_64 rng(5);
  std::size_t before = 0, after = 0;
  for (int k = 0; k < 500; ++k) {
    const Program p = random_program(rng);
    const auto fused = fuse(p.items, p.live_out);
    const auto expected = run(p.items, p.bases), got = run(fused, p.bases);
    for (std::size_t b = 0; b < p.bases; ++b) {
      if (p.live_out[b]) {
        ASSERT_EQ(std::memcmp(got[b].data(), expected[b].data(), sizeof(float) * got[b].size()), 0) << k << " " << b;
      }
    }
    // What opaque items read must be there before them.
    std::vector<std::uint8_t> written(p.bases, 0);
    written[0] = written[1] = 1;
    for (const FuseItem& i : fused) {
      if (i.nest) {
        for (const Store& s : i.nest->stores) written[s.to.base] = 1;
        for (const Reduction& r : i.nest->reductions) written[r.to.base] = 1;
      }
      for (std::uint32_t b : i.reads) ASSERT_TRUE(written[b]);
    }
    before += p.items.size();
    after += fused.size();
  }
  EXPECT_LT(after * 2, before);
}

// y = exp(x) * x; s = sum of y: one nest that stores nothing but s.
TEST(Fuse, ChainIntoReduction) {
  const Access x = row_major(0, DType::F32, kDims), e = row_major(1, DType::F32, kDims),
               y = row_major(2, DType::F32, kDims);
  const Access factors[] = {e, x};
  const std::int64_t axes[] = {0};
  std::vector<FuseItem> items(3);
  items[0].nest = elementwise_nest(Op::exp, DType::F32, kDims, {&x, 1}, e);
  items[1].nest = elementwise_nest(Op::mul, DType::F32, kDims, factors, y);
  items[2].nest = reduce_nest(Op::reduce_sum, kDims, axes, y, {3, DType::F32, 0, {1}});
  const std::uint8_t live[] = {0, 0, 0, 1};
  const auto fused = fuse(items, live);
  ASSERT_EQ(fused.size(), 1u);
  EXPECT_EQ(text(*fused[0].nest),
            "extents [5, 7] reduced [1, 0]\n"
            "n0 = load f32 b0 + 0 [7, 1]\n"
            "n1 = exp f32 n0\n"
            "n2 = mul f32 n1 n0\n"
            "reduce_sum n2 -> f32 b3 + 0 [0, 1]\n");
  EXPECT_EQ(fused[0].origins, (std::vector<std::uint32_t>{0, 1, 2}));
}

// A value read at another point than it is written can't share the loop.
TEST(Fuse, ReversedReadStaysBehind) {
  const Access x = row_major(0, DType::F32, kDims), y = row_major(1, DType::F32, kDims),
               z = row_major(2, DType::F32, kDims);
  const Access reversed{1, DType::F32, kRows * kColumns - 1, {-kColumns, -1}};
  const Nest first = elementwise_nest(Op::neg, DType::F32, kDims, {&x, 1}, y);
  const Nest second = elementwise_nest(Op::neg, DType::F32, kDims, {&reversed, 1}, z);
  EXPECT_FALSE(merge(first, second));
  EXPECT_TRUE(merge(first, elementwise_nest(Op::neg, DType::F32, kDims, {&y, 1}, z)));
}

// What a nest stores for nobody keeps others out of it at first, and not at the second look.
TEST(Fuse, SecondLookAfterDeadStores) {
  FuseOptions options;
  options.max_stores = 2;
  std::vector<FuseItem> items(3);
  for (std::uint32_t k = 0; k < 3; ++k) {
    const Access in = row_major(k, DType::F32, kDims);
    items[k].nest = elementwise_nest(Op::exp, DType::F32, kDims, {&in, 1}, row_major(k + 1, DType::F32, kDims));
  }
  const std::uint8_t all[] = {0, 1, 1, 1}, last[] = {0, 0, 0, 1};
  EXPECT_EQ(fuse(items, all, options).size(), 2u);
  const auto fused = fuse(items, last, options);
  ASSERT_EQ(fused.size(), 1u);
  EXPECT_EQ(text(*fused[0].nest),
            "extents [5, 7] reduced [0, 0]\n"
            "n0 = load f32 b0 + 0 [7, 1]\n"
            "n1 = exp f32 n0\n"
            "n2 = exp f32 n1\n"
            "n3 = exp f32 n2\n"
            "store n3 -> f32 b3 + 0 [7, 1]\n");
  EXPECT_EQ(fused[0].origins, (std::vector<std::uint32_t>{0, 1, 2}));
}

}  // namespace

}  // namespace tfvm
