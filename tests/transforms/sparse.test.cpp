// How many passes compressed derivatives take.
#include "transforms/sparse/sparse.h"

#include <random>

#include <gtest/gtest.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

SparsePattern band(std::int64_t n, std::int64_t width) {
  SparsePattern p{n, n, {0}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - width); j <= std::min(n - 1, i + width); ++j)
      p.indices.push_back(j);
    p.indptr.push_back(p.nonzeros());
  }
  return p;
}

TEST(Sparse, ColorsOfBands) {
  EXPECT_EQ(color_columns(band(10000, 1)).colors, 3);
  EXPECT_EQ(star_coloring(band(10000, 1)).colors, 3);
  EXPECT_LE(star_coloring(band(1000, 3)).colors, 7);
}

// Every element is alone in its color in its row or in that of its column: it can be read there.
TEST(Sparse, StarColoringsOfRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t n = 2 + static_cast<std::int64_t>(random() % 20);
    std::vector<std::vector<bool>> edge(static_cast<std::size_t>(n), std::vector<bool>(static_cast<std::size_t>(n)));
    for (std::size_t i = 0; i < edge.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) edge[i][j] = edge[j][i] = i == j || random() % 4 == 0;
    SparsePattern p{n, n, {0}, {}};
    for (const auto& line : edge) {
      for (std::size_t j = 0; j < line.size(); ++j)
        if (line[j]) p.indices.push_back(static_cast<std::int64_t>(j));
      p.indptr.push_back(p.nonzeros());
    }
    const Coloring c = star_coloring(p);
    const auto alone = [&](std::size_t i, std::size_t j) {
      for (std::size_t k = 0; k < edge.size(); ++k)
        if (k != j && edge[i][k] && c.color[k] == c.color[j]) return false;
      return true;
    };
    for (std::size_t i = 0; i < edge.size(); ++i)
      for (std::size_t j = 0; j < edge.size(); ++j) EXPECT_TRUE(!edge[i][j] || alone(i, j) || alone(j, i)) << round;
  }
}

TEST(Sparse, HessianOfAChainTakesThreePasses) {
  auto vm = VM::create();
  ASSERT_TRUE(vm);
  std::string reported;
  (*vm)->transforms().log = [&](std::string_view category, const std::string& message) {
    if (category == "sparse") reported = message;
  };
  ASSERT_TRUE(
      (*vm)->load_text("func @f(%x: f64[n]) -> f64 {\n"
                       "  %a = slice %x {start=[1], limit=[n]}\n"
                       "  %b = slice %x {start=[0], limit=[(n - 1)]}\n"
                       "  %s = mul %b, %b\n  %d = sub %a, %s\n  %e = mul %d, %d\n"
                       "  %g = sub 1.0, %b\n  %h = mul %g, %g\n  %k = add %e, %h\n"
                       "  %r = reduce_sum %k\n  ret %r\n}\n",
                       "chain.tfa"));
  const TypeId x = (*vm)->tables().types.tensor(DType::F64, {10000});
  const Result<Function> f = (*vm)->entry("hess_sparse(@f)", std::span(&x, 1));
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_NE(reported.find("29998 elements in 3 forward passes"), reported.npos) << reported;
}

}  // namespace
}  // namespace tfvm
