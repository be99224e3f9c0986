#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <ranges>

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

// One update after another, of indices as the language means them.
struct Scattered {
  V v;
  IndexFailure failure;
};

Scattered scattered(const Value& x, const Value& idx, const Value& u, std::size_t axis, std::string_view combine,
                    std::string_view mode) {
  Scattered r{x.v, {}};
  std::vector<std::int64_t> at(u.dims.size(), 0);
  for (std::size_t n = 0; n < u.v.size(); ++n) {
    std::size_t of_index = 0, of_x = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      of_index = of_index * static_cast<std::size_t>(idx.dims[d]) + static_cast<std::size_t>(at[d]);
    auto i = static_cast<std::int64_t>(idx.v[of_index]);
    const std::int64_t bound = x.dims[axis], given = i;
    if (i < 0 && mode == "error") i += bound;
    if (mode == "clip") i = std::clamp<std::int64_t>(i, 0, bound - 1);
    const bool inside = i >= 0 && i < bound;
    if (!inside && mode == "error" && !r.failure.failed) r.failure = {true, static_cast<std::int64_t>(n), given, bound};
    for (std::size_t d = 0; d < at.size(); ++d)
      of_x = of_x * static_cast<std::size_t>(x.dims[d]) + static_cast<std::size_t>(d == axis ? i : at[d]);
    if (inside) {
      double& e = r.v[of_x];
      e = combine == "add" ? e + u.v[n] : combine == "max" ? std::max(e, u.v[n]) : u.v[n];
    }
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == u.dims[d];) at[d] = 0;
  }
  return r;
}

TEST(ScatterAlong, AsOneUpdateAfterAnother) {
  std::mt19937 rng(3);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(rng() % static_cast<unsigned>(n)); };
  const std::vector<std::vector<std::int64_t>> shapes{{700},       {3, 300},    {300, 8}, {300, 11},
                                                      {2, 259, 3}, {257, 2, 2}, {1, 1, 5}};
  for (int round = 0; round < 400; ++round) {
    Tables t;
    const auto& dims = shapes[static_cast<std::size_t>(below(std::ssize(shapes)))];
    const auto axis = static_cast<std::size_t>(below(std::ssize(dims)));
    const DType types[] = {DType::F32, DType::F64, DType::I32, DType::F16},
                index_types[] = {DType::I64, DType::I32, DType::I16};
    const std::string_view combines[] = {"add", "set", "max"}, modes[] = {"error", "clip", "fill"};
    Value u{types[below(4)], dims, {}, {}}, x{u.dtype, dims, {}, {}}, idx{index_types[below(3)], dims, {}, {}};
    x.dims[axis] = 1 + below(9);
    if (below(2) == 0 && axis + 1 < dims.size()) idx.repeated = std::ssize(dims) - 1;
    if (below(2) == 0)
      std::ranges::copy(std::views::iota(std::int64_t{0}, std::ssize(dims)) | std::views::reverse,
                        std::back_inserter(u.perm));
    const bool any_outside = below(3) == 0;
    const auto fill = [](Value& v, auto element) {
      std::int64_t n = 1;
      for (std::int64_t d : v.dims) n *= d;
      for (; n > 0; --n) v.v.push_back(static_cast<double>(element()));
    };
    fill(u, [&] { return below(5); });
    fill(x, [&] { return below(5); });
    fill(idx, [&] { return any_outside && below(50) == 0 ? below(30) - 15 : below(x.dims[axis]); });
    for (std::size_t k = 0; idx.repeated >= 0 && k < idx.v.size(); ++k)
      idx.v[k] = idx.v[k - k % static_cast<std::size_t>(dims.back())];
    const std::string_view combine = combines[below(3)], mode = modes[below(3)];
    SCOPED_TRACE(::testing::Message() << round << " " << combine << " " << mode << " axis " << axis);
    const auto got =
        run_kernel(t, Op::scatter_along, {x, idx, u},
                   {{Key::axis, static_cast<std::int64_t>(axis)}, {Key::combine, combine}, {Key::mode, mode}});
    const Scattered want = scattered(x, idx, u, axis, combine, mode);
    EXPECT_EQ(got.failure.failed, want.failure.failed);
    if (!want.failure.failed) {
      EXPECT_EQ(got.v, want.v);
      continue;
    }
    EXPECT_EQ(got.failure.position, want.failure.position);
    EXPECT_EQ(got.failure.value, want.failure.value);
  }
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
