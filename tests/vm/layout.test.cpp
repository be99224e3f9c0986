#include "vm/layout.h"

#include <numeric>

#include <gtest/gtest.h>

namespace tfvm {
namespace {

using Vec = std::vector<std::int64_t>;

Vec elements(const Layout& x, const Vec& memory) {
  Vec out(static_cast<std::size_t>(x.elements()));
  copy_elements(row_major(x.dims), reinterpret_cast<std::byte*>(out.data()), x,
                reinterpret_cast<const std::byte*>(memory.data()), 8);
  return out;
}

Vec counted(std::int64_t n) {
  Vec v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

TEST(Layout, ViewsAreArithmetic) {
  const Layout x = row_major(Vec{2, 3});
  const Vec memory = counted(6);
  EXPECT_EQ(elements(transposed(x, Vec{1, 0}), memory), (Vec{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(elements(reversed(x, Vec{1}), memory), (Vec{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(elements(reversed(x, Vec{0, 1}), memory), (Vec{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(elements(sliced(x, Vec{0, 0}, Vec{2, 3}, Vec{1, 2}), memory), (Vec{0, 2, 3, 5}));
  EXPECT_EQ(elements(broadcast(sliced(x, Vec{1, 0}, Vec{2, 3}, Vec{1, 1}), Vec{2, 2, 3}), memory),
            (Vec{3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5}));
}

TEST(Layout, ReshapeKeepsRowMajorOrderOrRefuses) {
  const Vec memory = counted(24);
  const Layout x = row_major(Vec{2, 3, 4});
  const auto merged = reshaped(x, Vec{6, 1, 4});
  ASSERT_TRUE(merged);
  EXPECT_EQ(elements(*merged, memory), memory);
  const Layout rows = sliced(x, Vec{0, 0, 0}, Vec{2, 3, 4}, Vec{1, 1, 2});
  const auto split = reshaped(rows, Vec{3, 2, 2});
  ASSERT_TRUE(split);
  EXPECT_EQ(elements(*split, memory), elements(rows, memory));
  EXPECT_FALSE(reshaped(transposed(x, Vec{0, 2, 1}), Vec{24}));
  const auto stays = reshaped(transposed(x, Vec{2, 0, 1}), Vec{4, 6, 1});
  ASSERT_TRUE(stays);
  EXPECT_EQ(elements(*stays, memory), elements(transposed(x, Vec{2, 0, 1}), memory));
}

TEST(Layout, NothingIsRowMajorAndHasNoExtent) {
  const Layout x = transposed(row_major(Vec{0, 5}), Vec{1, 0});
  EXPECT_TRUE(x.is_row_major());
  EXPECT_EQ(extent(x).begin, extent(x).end);
  EXPECT_TRUE(elements(x, {}).empty());
}

TEST(Layout, ExtentOfAReversedView) {
  const Layout x = reversed(row_major(Vec{4}), Vec{0});
  EXPECT_EQ(extent(x).begin, 0);
  EXPECT_EQ(extent(x).end, 4);
}

}  // namespace
}  // namespace tfvm
