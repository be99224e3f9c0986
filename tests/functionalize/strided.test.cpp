#include "functionalize/strided.h"

#include <gtest/gtest.h>

namespace tfvm::functional::test {

TEST(Strided, OverlapIsExact) {
  EXPECT_FALSE(overlaps_itself(Strided{0, {2, 3}, {3, 1}}));
  EXPECT_FALSE(overlaps_itself(Strided{0, {2, 3}, {1, 2}}));
  EXPECT_FALSE(overlaps_itself(Strided{0, {2, 2}, {2, 3}}));  // 0 3 2 5
  EXPECT_TRUE(overlaps_itself(Strided{0, {2, 3}, {2, 1}}));
  EXPECT_TRUE(overlaps_itself(Strided{0, {4, 3}, {2, 3}}));  // 6 twice
  EXPECT_TRUE(overlaps_itself(Strided{0, {1, 3}, {5, 0}}));
  EXPECT_FALSE(overlaps_itself(Strided{0, {5, 1}, {1, 0}}));
  EXPECT_FALSE(overlaps_itself(Strided{0, {0, 3}, {0, 0}}));
  EXPECT_FALSE(overlaps_itself(Strided{7, {}, {}}));
}

TEST(Strided, ShapesThatStridesAllow) {
  const Strided rows{2, {2, 3, 4}, {24, 8, 1}};
  EXPECT_EQ(reshaped(rows, std::vector<std::int64_t>{6, 4}), (Strided{2, {6, 4}, {8, 1}}));
  EXPECT_EQ(reshaped(rows, std::vector<std::int64_t>{2, 3, 2, 1, 2}), (Strided{2, {2, 3, 2, 1, 2}, {24, 8, 2, 2, 1}}));
  EXPECT_EQ(reshaped(rows, std::vector<std::int64_t>{2, 12}), std::nullopt);
  EXPECT_EQ(reshaped(Strided{0, {3, 2}, {1, 3}}, std::vector<std::int64_t>{6}), std::nullopt);
  EXPECT_EQ(reshaped(Strided{0, {3, 2}, {1, 3}}, std::vector<std::int64_t>{3, 1, 2})->strides,
            (std::vector<std::int64_t>{1, 6, 3}));
  EXPECT_EQ(reshaped(Strided{4, {1, 1}, {9, 7}}, std::vector<std::int64_t>{})->offset, 4);
  EXPECT_EQ(row_major(std::vector<std::int64_t>{2, 0, 3}).shape, (std::vector<std::int64_t>{2, 0, 3}));
}

}  // namespace tfvm::functional::test
