#include <cmath>
#include <limits>

#include "tests/vm/kernels/run.h"

namespace tfvm {
namespace {

using testing::run_kernel;
using testing::Value;
using D = std::vector<std::int64_t>;
using V = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

struct Window {
  D size, stride, low, high, base, dilation;
};

AttrId padding(Tables& t, const Window& w) {
  std::vector<AttrId> items;
  for (std::size_t k = 0; k < w.low.size(); ++k) items.push_back(t.attrs.ints(D{w.low[k], w.high[k]}));
  return t.attrs.list(items);
}

testing::Run reduce(Tables& t, const char* op, const Value& x, const Window& w) {
  return run_kernel(t, Op::reduce_window, {x},
                    {{Key::op, op},
                     {Key::window, Ints(w.size)},
                     {Key::strides, Ints(w.stride)},
                     {Key::padding, padding(t, w)},
                     {Key::base_dilation, Ints(w.base)},
                     {Key::window_dilation, Ints(w.dilation)}});
}

TEST(ReduceWindow, EveryCombine) {
  Tables t;
  const Value x{DType::F32, {5}, {3, 1, 4, 1, 5}, {}};
  const Window w{{3}, {2}, {1}, {0}, {1}, {1}};
  EXPECT_EQ(reduce(t, "add", x, w).v, (V{4, 6}));
  EXPECT_EQ(reduce(t, "mul", x, w).v, (V{3, 4}));
  EXPECT_EQ(reduce(t, "max", x, w).v, (V{3, 4}));
  EXPECT_EQ(reduce(t, "min", x, w).v, (V{1, 1}));
}

TEST(ReduceWindow, DilationsAndPaddingThatTrims) {
  Tables t;
  const Value x{DType::I32, {4}, {1, 2, 3, 4}, {}};  // dilated: 1 . 2 . 3 . 4
  EXPECT_EQ(reduce(t, "add", x, {{2}, {1}, {0}, {0}, {2}, {2}}).v, (V{3, 0, 5, 0, 7}));
  EXPECT_EQ(reduce(t, "add", x, {{2}, {1}, {0}, {0}, {2}, {3}}).v, (V{1, 3, 2, 4}));
  EXPECT_EQ(reduce(t, "add", x, {{2}, {1}, {-1}, {-1}, {1}, {1}}).v, (V{5}));
  EXPECT_EQ(reduce(t, "add", x, {{2}, {1}, {-1}, {1}, {1}, {1}}).v, (V{5, 7, 4}));
  EXPECT_EQ(reduce(t, "add", x, {{3}, {1}, {2}, {2}, {3}, {2}}).v, (V{1, 2, 1, 2, 3, 2, 3, 4, 3, 4}));
}

TEST(ReduceWindow, RowsInAnyMemoryOrder) {
  Tables t;
  for (const D& perm : {D{}, D{1, 0}}) {
    const Value x{DType::F64, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, perm};
    EXPECT_EQ(reduce(t, "add", x, {{2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}}).v, (V{12, 16, 24, 28}));
    EXPECT_EQ(reduce(t, "max", x, {{2, 1}, {2, 2}, {0, 1}, {1, 0}, {1, 1}, {1, 1}}).v, (V{-kInf, 5, -kInf, 8}));
  }
}

TEST(ReduceWindow, WindowsOfPaddingAndSigns) {
  Tables t;
  const Value x{DType::F32, {2}, {-0.0, -0.0}, {}};
  const V v = reduce(t, "add", x, {{2}, {1}, {2}, {0}, {1}, {1}}).v;
  ASSERT_EQ(v.size(), 3u);
  EXPECT_FALSE(std::signbit(v[0]));  // of nothing
  EXPECT_TRUE(std::signbit(v[1]) && std::signbit(v[2]));
  const Value n{DType::F32, {3}, {1, kNaN, 2}, {}};
  for (const char* op : {"add", "mul", "max", "min"}) {
    const V w = reduce(t, op, n, {{2}, {2}, {1}, {0}, {1}, {1}}).v;
    EXPECT_EQ(w[0], 1) << op;
    EXPECT_TRUE(std::isnan(w[1])) << op;
  }
  EXPECT_EQ(reduce(t, "max", {DType::I8, {1}, {5}, {}}, {{1}, {1}, {1}, {0}, {1}, {1}}).v, (V{-128, 5}));
}

TEST(ReduceWindow, ElementsComeOneAfterAnother) {
  Tables t;
  const Value x{DType::F32, {2, 2}, {1, 1e8, -1e8, 1}, {}};
  EXPECT_EQ(reduce(t, "add", x, {{2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}}).v, V{1});
}

TEST(ReduceWindow, ALongWindowCostsNoMoreThanTheOperand) {
  Tables t;
  const std::int64_t far = std::int64_t{1} << 50;
  const Value x{DType::F32, {3}, {1, 2, 3}, {}};
  EXPECT_EQ(reduce(t, "add", x, {{far}, {far}, {far - 2}, {far}, {1}, {1}}).v, (V{3, 3}));
}

TEST(SelectAndScatterAdd, GoesToTheFirstOfEqualsAndToNaN) {
  Tables t;
  const Window w{{2}, {1}, {0}, {1}, {1}, {1}};
  const auto run = [&](const V& x, const V& s, DType d) {
    return run_kernel(t, Op::select_and_scatter_add, {{d, {4}, x, {}}, {d, {4}, s, {}}},
                      {{Key::window, Ints(w.size)}, {Key::strides, Ints(w.stride)}, {Key::padding, padding(t, w)}})
        .v;
  };
  EXPECT_EQ(run({2, 2, 1, 3}, {1, 10, 100, 1000}, DType::F64), (V{1, 10, 0, 1100}));
  EXPECT_EQ(run({1, kNaN, kNaN, 3}, {1, 10, 100, 1000}, DType::F64), (V{0, 11, 100, 1000}));
  EXPECT_EQ(run({-kInf, -kInf, -kInf, -kInf}, {1, 10, 100, 1000}, DType::F32), (V{1, 10, 100, 1000}));
}

TEST(SelectAndScatterAdd, AWindowOfPaddingGoesNowhere) {
  Tables t;
  const Window w{{1}, {1}, {2}, {0}, {1}, {1}};
  const auto v =
      run_kernel(t, Op::select_and_scatter_add, {{DType::F32, {2}, {1, 2}, {}}, {DType::F32, {4}, {1, 2, 3, 4}, {}}},
                 {{Key::window, Ints(w.size)}, {Key::padding, padding(t, w)}})
          .v;
  EXPECT_EQ(v, (V{3, 4}));
}

}  // namespace
}  // namespace tfvm
