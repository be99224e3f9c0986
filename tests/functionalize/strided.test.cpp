#include <gtest/gtest.h>

#include "functionalize/regions.h"

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

TEST(Strided, AViewWithinAView) {
  const Strided box{5, {2, 3}, {4, 1}};  // rows 1 and 2, columns 1 to 3 of rows of 4
  EXPECT_EQ(within(box, Strided{9, {3}, {1}}), (Strided{3, {3}, {1}}));
  EXPECT_EQ(within(box, Strided{6, {2}, {4}}), (Strided{1, {2}, {3}}));
  EXPECT_EQ(within(box, Strided{6, {2, 2}, {5, 0}}), (Strided{1, {2, 2}, {4, 0}}));
  EXPECT_EQ(within(box, Strided{4, {1}, {1}}), std::nullopt);
  EXPECT_EQ(within(box, Strided{8, {1}, {1}}), std::nullopt);  // between the rows
  EXPECT_EQ(within(box, Strided{9, {4}, {1}}), std::nullopt);
  EXPECT_EQ(within(Strided{0, {3}, {2}}, Strided{0, {3}, {1}}), std::nullopt);
}

}  // namespace tfvm::functional::test
