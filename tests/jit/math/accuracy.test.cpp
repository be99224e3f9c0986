// Every function against multi-precision values: the language allows 2 ulp, and 4 for a few.
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include "jit/math/array.h"
#include "tests/jit/math/reference.h"

namespace tfvm::math::test {
namespace {

template <class T>
double limit(const Block<T>& block, std::size_t i) {
  if (!block.allowed.empty()) return block.allowed[i];
  return block.name == "pow" && sizeof(T) == 8 ? 4 : 2;
}

template <class T>
void check(const Block<T>& block) {
  const auto fn = math_fn(block.name);
  ASSERT_TRUE(fn) << block.name;
  std::vector<T> got(block.x.size());
  array_fn<T> (*fn)(block.x.data(), block.y.data(), nullptr, got.data(), got.size());
  double worst = 0;  // among the points with the plain limit
  int failures = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = ulp_error(got[i], block.result[i], block.residual[i]);
    if (limit(block, i) <= 4) worst = std::fmax(worst, error);
    if (error <= limit(block, i) || ++failures > 5) continue;
    const double y = block.y.empty() ? 0 : static_cast<double>(block.y[i]);
    char text[300];
    std::snprintf(text, sizeof text, "%s(%a, %a) = %a, want %a: %g ulp", block.name.c_str(),
                  static_cast<double>(block.x[i]), y, static_cast<double>(got[i]), static_cast<double>(block.result[i]),
                  error);
    ADD_FAILURE() << text;
  }
  std::printf("%-10s f%d  %5zu points  max %.3f ulp\n", block.name.c_str(), static_cast<int>(8 * sizeof(T)), got.size(),
              worst);
}

// Exact by definition: special.test.cpp compares their bits.
constexpr std::string_view kExact[] = {"neg", "abs", "sign",     "ceil",      "floor", "round", "trunc", "rem",
                                       "max", "min", "copysign", "nextafter", "zmul",  "clamp", "fma",   "zfma"};

template <class T>
void check_all() {
  const auto blocks = read_blocks<T>();
  for (const MathFnInfo& fn : kMathFns) {
    const bool has_values = std::ranges::any_of(blocks, [&](const auto& b) { return b.name == fn.name; });
    EXPECT_NE(has_values, std::ranges::find(kExact, fn.name) != std::end(kExact)) << fn.name;
  }
  for (const auto& block : blocks) check(block);
}

TEST(MathAccuracy, F32) { check_all<float>(); }
TEST(MathAccuracy, F64) { check_all<double>(); }

TEST(MathAccuracy, UlpErrorSeesAWrongBit) {
  EXPECT_EQ(ulp_error(1.0, 1.0, 127), 0.5);
  EXPECT_EQ(ulp_error(std::nextafter(1.5, 2.0), 1.5, 0), 1);
  EXPECT_EQ(ulp_error(std::nextafter(0.0, 1.0), 0.0, 127), 0.5);
  EXPECT_EQ(ulp_error(0x1p-1074, 0x3p-1074, 0), 2);
  EXPECT_TRUE(std::isinf(ulp_error(0.0, -0.0, 0)));
  EXPECT_TRUE(std::isinf(ulp_error(1.0, std::nan(""), 0)));
}

}  // namespace
}  // namespace tfvm::math::test
