#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/vm/kernels/run.h"

namespace tfvm {
namespace {

using testing::run_kernel;
using testing::Value;
using V = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

TEST(Sort, NaNsStandBehindAllElse) {
  Tables t;
  for (DType d : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Value x{d, {6}, {2, kNaN, -kInf, kInf, -3, -kNaN}, {}};
    EXPECT_EQ(run_kernel(t, Op::argsort, {x}, {{Key::axis, 0}}).v, (V{2, 4, 0, 3, 1, 5})) << name(d);
    EXPECT_EQ(run_kernel(t, Op::argsort, {x}, {{Key::axis, 0}, {Key::descending, true}}).v, (V{1, 5, 3, 0, 4, 2}))
        << name(d);
  }
}

TEST(Sort, ZerosAreEqualAndKeepTheirOrder) {
  Tables t;
  const Value x{DType::F64, {4}, {0.0, -0.0, -1, 0.0}, {}};
  EXPECT_EQ(run_kernel(t, Op::argsort, {x}, {{Key::axis, 0}}).v, (V{2, 0, 1, 3}));
  EXPECT_EQ(run_kernel(t, Op::argsort, {x}, {{Key::axis, 0}, {Key::descending, true}}).v, (V{0, 1, 3, 2}));
}

TEST(Sort, IntegersOfBothSigns) {
  Tables t;
  for (DType d : {DType::I8, DType::I16, DType::I32, DType::I64})
    EXPECT_EQ(run_kernel(t, Op::sort, {{d, {4}, {3, -128, 127, -1}, {}}}, {{Key::axis, 0}}).v, (V{-128, -1, 3, 127}));
  for (DType d : {DType::U8, DType::U16, DType::U32, DType::U64})
    EXPECT_EQ(run_kernel(t, Op::sort, {{d, {3}, {200, 0, 7}, {}}}, {{Key::axis, 0}, {Key::descending, true}}).v,
              (V{200, 7, 0}));
}

// Long lanes go another way than short ones; both against the standard library.
TEST(Sort, LanesOfAllLengthsInAnyMemoryOrder) {
  Tables t;
  std::mt19937_64 rng(1);
  for (std::int64_t n : {1, 2, 47, 48, 49, 1000, 70000}) {
    Value x{DType::F32, {2, n}, V(static_cast<std::size_t>(2 * n)), {1, 0}};
    for (double& v : x.v) v = static_cast<float>(static_cast<std::int64_t>(rng() % 1000) - 500) / 7.0F;
    V want;
    for (std::size_t row = 0; row < 2; ++row) {
      const double* v = x.v.data() + row * static_cast<std::size_t>(n);
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return v[a] < v[b]; });
      want.insert(want.end(), order.begin(), order.end());
    }
    EXPECT_EQ(run_kernel(t, Op::argsort, {x}, {{Key::axis, 1}}).v, want) << n;
  }
}

TEST(Sort, DescendingKeepsTheOrderOfEquals) {
  Tables t;
  const Value x{DType::F32, {2, 4}, {1, 3, 3, 2, kNaN, 0, 5, kNaN}, {}};
  const auto v = run_kernel(t, Op::argsort, {x}, {{Key::axis, 1}, {Key::descending, true}}).v;
  EXPECT_EQ(v, (V{1, 2, 3, 0, 0, 3, 2, 1}));
}

TEST(Searchsorted, FindsPlacesInRowsOfAnyStride) {
  Tables t;
  const Value rows{DType::F32, {2, 3}, {0, 1, 1, 2, 3, kNaN}, {1, 0}}, v{DType::F32, {2, 2}, {1, -1, kNaN, 2.5}, {}};
  EXPECT_EQ(run_kernel(t, Op::searchsorted, {rows, v}, {}).v, (V{1, 0, 2, 1}));
  EXPECT_EQ(run_kernel(t, Op::searchsorted, {rows, v}, {{Key::side, "right"}}).v, (V{3, 0, 3, 1}));
  const Value none{DType::I32, {0}, {}, {}}, one{DType::I32, {}, {4}, {}};
  EXPECT_EQ(run_kernel(t, Op::searchsorted, {none, one}, {}).v, V{0});
}

TEST(Sort, RefusesLanesThatNoMemoryHolds) {
  Tables t;
  const TypeId x = t.types.tensor(DType::I8, std::vector<std::int64_t>{std::int64_t{1} << 50});
  const std::int64_t one[] = {1};
  const TypeId results[] = {t.types.tensor(DType::I8, one), t.types.tensor(DType::I64, one)};
  const AttrId attrs = t.attrs.dict({{Key::k, 1}, {Key::axis, 0}, {Key::largest, true}});
  const Result<Kernel> k = make_kernel(t.types, t.attrs, Op::topk, attrs, {&x, 1}, results);
  ASSERT_FALSE(k);
  EXPECT_EQ(k.error().code, Code::Limit);
}

}  // namespace
}  // namespace tfvm
