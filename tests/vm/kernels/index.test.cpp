#include <cmath>
#include <limits>

#include "tests/vm/kernels/run.h"

namespace tfvm {
namespace {

using testing::run_kernel;
using testing::Value;
using V = std::vector<double>;

const Value kX{DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}, {}};
const Value kSwapped{DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}};

TEST(Take, TakesRowsAndColumnsOfAnyStrides) {
  Tables t;
  const Value i{DType::I64, {2}, {-1, 0}, {}};
  for (const Value& x : {kX, kSwapped}) {
    EXPECT_EQ(run_kernel(t, Op::take, {x, i}, {{Key::axis, 0}}).v, (V{4, 5, 6, 1, 2, 3}));
    EXPECT_EQ(run_kernel(t, Op::take, {x, i}, {{Key::axis, 1}}).v, (V{3, 1, 6, 4}));
  }
}

TEST(Take, ReportsTheFirstIndexOutside) {
  Tables t;
  const auto r = run_kernel(t, Op::take, {kX, {DType::I32, {3}, {1, 3, 9}, {}}}, {{Key::axis, 1}});
  EXPECT_TRUE(r.failure.failed);
  EXPECT_EQ(r.failure.position, 1);
  EXPECT_EQ(r.failure.value, 3);
  EXPECT_EQ(r.failure.bound, 3);
}

TEST(Take, ClipsAndFills) {
  Tables t;
  const Value i{DType::I64, {3}, {-1, 1, 7}, {}};
  EXPECT_EQ(run_kernel(t, Op::take, {kX, i}, {{Key::axis, 1}, {Key::mode, "clip"}}).v, (V{1, 2, 3, 4, 5, 6}));
  const V filled = run_kernel(t, Op::take, {kX, i}, {{Key::axis, 1}, {Key::mode, "fill"}}).v;
  EXPECT_TRUE(std::isnan(filled[0]) && std::isnan(filled[2]));
  EXPECT_EQ(filled[1], 2);
  const Value ints{DType::I32, {2}, {8, 9}, {}};
  EXPECT_EQ(run_kernel(t, Op::take, {ints, i}, {{Key::axis, 0}, {Key::mode, "fill"}}).v, (V{0, 9, 0}));
}

TEST(Take, FromNothing) {
  Tables t;
  const Value empty{DType::F32, {0, 2}, {}, {}};
  EXPECT_EQ(run_kernel(t, Op::take, {empty, {DType::I64, {0}, {}, {}}}, {{Key::axis, 0}}).v, V{});
  EXPECT_TRUE(run_kernel(t, Op::take, {empty, {DType::I64, {1}, {0}, {}}}, {{Key::axis, 0}}).failure.failed);
  const V v = run_kernel(t, Op::take, {empty, {DType::I64, {1}, {0}, {}}}, {{Key::axis, 0}, {Key::mode, "clip"}}).v;
  EXPECT_TRUE(std::isnan(v[0]));
}

TEST(TakeAlong, FollowsTheAxis) {
  Tables t;
  const Value i{DType::I64, {2, 2}, {2, 0, -1, 1}, {}};
  for (const Value& x : {kX, kSwapped})
    EXPECT_EQ(run_kernel(t, Op::take_along, {x, i}, {{Key::axis, 1}}).v, (V{3, 1, 6, 5}));
}

TEST(ScatterAlong, OfEqualPlacesTheLastWinsAndSumsTakeAll) {
  Tables t;
  const Value i{DType::I64, {2, 3}, {0, 0, 2, 1, 1, 1}, {}}, u{DType::F32, {2, 3}, {10, 20, 30, 40, 50, 60}, {1, 0}};
  EXPECT_EQ(run_kernel(t, Op::scatter_along, {kX, i, u}, {{Key::axis, 1}}).v, (V{20, 2, 30, 4, 60, 6}));
  EXPECT_EQ(run_kernel(t, Op::scatter_along, {kX, i, u}, {{Key::axis, 1}, {Key::combine, "add"}}).v,
            (V{31, 2, 33, 4, 155, 6}));
  EXPECT_EQ(run_kernel(t, Op::scatter_along, {kX, i, u}, {{Key::axis, 1}, {Key::combine, "max"}}).v,
            (V{20, 2, 30, 4, 60, 6}));
  EXPECT_EQ(run_kernel(t, Op::scatter_along, {kX, i, u}, {{Key::axis, 1}, {Key::combine, "min"}}).v,
            (V{1, 2, 3, 4, 5, 6}));
}

TEST(ScatterAlong, DropsWritesOutsideWhereFilling) {
  Tables t;
  const Value x{DType::F32, {1, 3}, {1, 2, 3}, {}};
  const Value i{DType::I64, {1, 3}, {-1, 1, 5}, {}}, u{DType::F32, {1, 3}, {10, 20, 30}, {}};
  EXPECT_EQ(run_kernel(t, Op::scatter_along, {x, i, u}, {{Key::axis, 1}, {Key::mode, "fill"}}).v, (V{1, 20, 3}));
  EXPECT_EQ(run_kernel(t, Op::scatter_along, {x, i, u}, {{Key::axis, 1}, {Key::mode, "clip"}}).v, (V{10, 20, 30}));
  EXPECT_TRUE(run_kernel(t, Op::scatter_along, {x, i, u}, {{Key::axis, 1}}).failure.failed);
}

TEST(DynamicSlice, ClampsItsStarts) {
  Tables t;
  const Value low{DType::I32, {}, {-5}, {}}, high{DType::I32, {}, {9}, {}};
  const std::int64_t sizes[] = {1, 2};
  EXPECT_EQ(run_kernel(t, Op::dynamic_slice, {kSwapped, high, low}, {{Key::sizes, Ints(sizes)}}).v, (V{4, 5}));
  EXPECT_EQ(run_kernel(t, Op::dynamic_slice, {kX, low, high}, {{Key::sizes, Ints(sizes)}}).v, (V{2, 3}));
}

TEST(DynamicUpdateSlice, WritesTheWindow) {
  Tables t;
  const Value u{DType::F32, {2, 1}, {-1, -2}, {}}, zero{DType::I64, {}, {0}, {}}, big{DType::U64, {}, {1e19}, {}};
  EXPECT_EQ(run_kernel(t, Op::dynamic_update_slice, {kX, u, zero, zero}, {}).v, (V{-1, 2, 3, -2, 5, 6}));
  EXPECT_EQ(run_kernel(t, Op::dynamic_update_slice, {kX, u, big, big}, {}).v, (V{1, 2, -1, 4, 5, -2}));
}

}  // namespace
}  // namespace tfvm
