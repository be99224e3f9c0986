// f32 against the f64 functions (which accuracy.test.cpp holds to multi-precision values), over all bit patterns: one
// in 4099 as a rule, every one with --gtest_also_run_disabled_tests --gtest_filter='*Sweep*' (about an hour).
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "jit/math/array.h"

namespace tfvm::math::test {
namespace {

/// In ulps of f32; infinite as ulp_error of reference.h.
double f32_error(float got, double want) {
  const auto narrow = static_cast<float>(want);
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(narrow) || std::isnan(got)) return std::isnan(narrow) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(narrow) || std::isinf(got)) return narrow == got ? 0 : wrong;
  if ((narrow == 0 || got == 0) && std::signbit(narrow) != std::signbit(got)) return wrong;
  const int exponent = std::max(std::ilogb(want), -126) - 23;
  return std::fabs(static_cast<double>(got) - want) * std::ldexp(1.0, -exponent);
}

/// The largest error of a unary function over every `stride`-th f32; where the f64 result is below 1 in the functions
/// that are held to an absolute error around their zeros, the smaller of that error and the error in ulps.
double largest_error(MathFn fn, std::uint64_t stride, bool absolute_below_one) {
  constexpr std::size_t block = 4096;
  std::vector<float> x(block), got(block);
  std::vector<double> wide(block), want(block);
  double worst = 0;
  for (std::uint64_t pattern = 0; pattern >> 32 == 0;) {
    std::size_t n = 0;
    for (; n < block && pattern >> 32 == 0; ++n, pattern += stride) {
      x[n] = std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
      wide[n] = static_cast<double>(x[n]);
    }
    array_fn<float>(fn)(x.data(), nullptr, nullptr, got.data(), n);
    array_fn<double>(fn)(wide.data(), nullptr, nullptr, want.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      double error = f32_error(got[i], want[i]);
      if (absolute_below_one && std::fabs(want[i]) < 1) {
        error = std::min(error, std::fabs(static_cast<double>(got[i]) - want[i]) * 0x1p23);
      }
      worst = std::fmax(worst, error);
    }
  }
  return worst;
}

void sweep(std::uint64_t stride) {
  for (std::size_t i = 0; i < kMathFnCount; ++i) {
    if (kMathFns[i].arity != 1) continue;
    const auto name = kMathFns[i].name;
    const bool loose = name == "lgamma" || name == "digamma" || name == "erfinv";
    const double worst = largest_error(static_cast<MathFn>(i), stride, loose);
    std::printf("%-10s f32  max %.3f ulp\n", std::string(name).c_str(), worst);
    EXPECT_LE(worst, loose ? 4 : 2) << name;
  }
}

TEST(MathSweep, F32OneIn4099) { sweep(4099); }
TEST(MathSweep, DISABLED_F32All) { sweep(1); }

}  // namespace
}  // namespace tfvm::math::test
