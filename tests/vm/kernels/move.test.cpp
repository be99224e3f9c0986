#include <cmath>
#include <limits>

#include "tests/vm/kernels/run.h"

namespace tfvm {
namespace {

using testing::run_kernel;
using testing::Value;
using V = std::vector<double>;

const Value kX{DType::I16, {2, 3}, {1, 2, 3, 4, 5, 6}, {}};
const Value kSwapped{DType::I16, {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}};

TEST(Concat, AlongEachAxis) {
  Tables t;
  const Value none{DType::I16, {0, 3}, {}, {}};
  EXPECT_EQ(run_kernel(t, Op::concat, {kX, none, kSwapped}, {{Key::axis, 0}}).v,
            (V{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run_kernel(t, Op::concat, {kX, kSwapped}, {{Key::axis, 1}}).v, (V{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
}

TEST(Reverse, AnyAxes) {
  Tables t;
  EXPECT_EQ(run_kernel(t, Op::reverse, {kSwapped}, {{Key::axes, 1}}).v, (V{3, 2, 1, 6, 5, 4}));
  const std::int64_t both[] = {0, 1};
  EXPECT_EQ(run_kernel(t, Op::reverse, {kX}, {{Key::axes, Ints(both)}}).v, (V{6, 5, 4, 3, 2, 1}));
}

// Against the definition: element i of x stands at low + i (interior + 1), what falls outside is dropped.
TEST(Pad, EveryCombinationOfASmallRow) {
  Tables t;
  const Value zero{DType::I32, {}, {-7}, {}};
  for (std::int64_t n : {0, 1, 4})
    for (std::int64_t low = -4; low <= 3; ++low)
      for (std::int64_t high = -4; high <= 3; ++high)
        for (std::int64_t interior = 0; interior <= 2; ++interior) {
          const std::int64_t size = low + high + (n ? n + (n - 1) * interior : 0);
          if (size < 0) continue;
          Value x{DType::I32, {n}, {}, {}};
          V want(static_cast<std::size_t>(size), -7);
          for (std::int64_t i = 0; i < n; ++i) {
            x.v.push_back(static_cast<double>(i + 1));
            const std::int64_t at = low + i * (interior + 1);
            if (at >= 0 && at < size) want[static_cast<std::size_t>(at)] = static_cast<double>(i + 1);
          }
          const std::int64_t l[] = {low}, h[] = {high}, in[] = {interior};
          EXPECT_EQ(
              run_kernel(t, Op::pad, {x, zero}, {{Key::low, Ints(l)}, {Key::high, Ints(h)}, {Key::interior, Ints(in)}})
                  .v,
              want)
              << n << " " << low << " " << high << " " << interior;
        }
}

TEST(Pad, TwoDims) {
  Tables t;
  const std::int64_t low[] = {1, -1}, high[] = {0, 1}, interior[] = {1, 0};
  const auto r = run_kernel(t, Op::pad, {kSwapped, {DType::I16, {}, {0}, {}}},
                            {{Key::low, Ints(low)}, {Key::high, Ints(high)}, {Key::interior, Ints(interior)}});
  EXPECT_EQ(r.v, (V{0, 0, 0, 2, 3, 0, 0, 0, 0, 5, 6, 0}));
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Cumulative, SumsAndProductsInBothDirections) {
  Tables t;
  EXPECT_EQ(run_kernel(t, Op::cumsum, {kSwapped}, {{Key::axis, 1}}).v, (V{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run_kernel(t, Op::cumsum, {kX}, {{Key::axis, 0}, {Key::reverse, true}}).v, (V{5, 7, 9, 4, 5, 6}));
  EXPECT_EQ(run_kernel(t, Op::cumprod, {{DType::U8, {3}, {20, 20, 2}, {}}}, {}).v, (V{20, 144, 32}));
}

TEST(Cumulative, ExtremesKeepNaN) {
  Tables t;
  const V v = run_kernel(t, Op::cummax, {{DType::F32, {4}, {1, 3, kNaN, 9}, {}}}, {}).v;
  EXPECT_EQ(v[1], 3);
  EXPECT_TRUE(std::isnan(v[2]) && std::isnan(v[3]));
  EXPECT_TRUE(std::signbit(run_kernel(t, Op::cummin, {{DType::F64, {2}, {0.0, -0.0}, {}}}, {}).v[1]));
}

TEST(Cumulative, HalvesAccumulateInF32) {
  Tables t;
  const V v = run_kernel(t, Op::cumsum, {{DType::F16, {3}, {2048, 1, 1}, {}}}, {}).v;
  EXPECT_EQ(v, (V{2048, 2048, 2050}));
}

TEST(Cumulative, LogSumExpHasNoOverflow) {
  Tables t;
  const double inf = std::numeric_limits<double>::infinity();
  const V v = run_kernel(t, Op::cumlogsumexp, {{DType::F64, {5}, {-inf, 1000, 1000, 990, inf}, {}}}, {}).v;
  EXPECT_EQ(v[0], -inf);
  EXPECT_EQ(v[1], 1000);
  EXPECT_NEAR(v[2], 1000 + std::log(2), 1e-10);
  EXPECT_NEAR(v[3], 1000 + std::log(2 + std::exp(-10.0)), 1e-10);
  EXPECT_EQ(v[4], inf);
}

TEST(ArgMax, FirstOfEqualsAndFirstNaN) {
  Tables t;
  EXPECT_EQ(run_kernel(t, Op::argmax, {{DType::F32, {4}, {1, 7, 7, 0}, {}}}, {}).v, (V{1}));
  EXPECT_EQ(run_kernel(t, Op::argmin, {{DType::F32, {4}, {1, kNaN, -7, kNaN}, {}}}, {}).v, (V{1}));
  EXPECT_EQ(run_kernel(t, Op::argmax, {kSwapped}, {{Key::axis, 0}}).v, (V{1, 1, 1}));
  EXPECT_EQ(run_kernel(t, Op::argmin, {kX}, {{Key::axis, 1}}).v, (V{0, 0}));
}

}  // namespace
}  // namespace tfvm
