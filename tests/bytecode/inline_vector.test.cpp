#include "bytecode/inline_vector.h"

#include <gtest/gtest.h>

namespace tfvm {
namespace {

using Short = InlineVector<int, 3>;
using List = std::vector<int>;

bool is_inside(const Short& v) {
  const auto* at = reinterpret_cast<const char*>(v.data());
  return at >= reinterpret_cast<const char*>(&v) && at < reinterpret_cast<const char*>(&v + 1);
}

TEST(InlineVector, GrowsOntoTheHeap) {
  Short v{1, 2};
  EXPECT_TRUE(is_inside(v));
  v.push_back(3);
  EXPECT_TRUE(is_inside(v));
  v.push_back(4);
  EXPECT_FALSE(is_inside(v));
  EXPECT_EQ(v, (List{1, 2, 3, 4}));
  v.insert(v.begin() + 1, 7);
  v.erase(v.begin());
  EXPECT_EQ(v, (List{7, 2, 3, 4}));
  v.resize(6, 9);
  EXPECT_EQ(List(v), (List{7, 2, 3, 4, 9, 9}));
  v.push_back(v.front());
  EXPECT_EQ(v.back(), 7);
  v.pop_back();
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(InlineVector, IsCopiedAndMoved) {
  for (const List& list : {List{}, List{5, 6}, List{1, 2, 3, 4, 5}}) {
    Short a(list), b = a, c;
    EXPECT_EQ(a, b);
    c = a;
    a.clear();
    EXPECT_EQ(b, list);
    EXPECT_EQ(c, list);
    Short d = std::move(b);
    EXPECT_EQ(d, list);
    EXPECT_TRUE(b.empty());  // NOLINT: moved from
    b.push_back(1);
    EXPECT_EQ(b, List{1});
    c = std::move(d);
    EXPECT_EQ(c, list);
    Short& same = c;
    c = same;
    EXPECT_EQ(c, list);
    c = Short{8};
    EXPECT_EQ(c, List{8});
  }
}

}  // namespace
}  // namespace tfvm
