#include <cmath>
#include <limits>

#include "tests/vm/kernels/run.h"

namespace tfvm {
namespace {

using testing::run_kernel;
using testing::Value;
using D = std::vector<std::int64_t>;
using V = std::vector<double>;

const Value kX{DType::F32, {3, 2}, {1, 2, 3, 4, 5, 6}, {}};
const Value kSwapped{DType::F32, {3, 2}, {1, 2, 3, 4, 5, 6}, {1, 0}};

// Rows of x at idx[n, 1].
testing::Run rows(Tables& t, const Value& x, const Value& idx, const char* mode = "error") {
  const D one{1}, zero{0}, sizes{1, 2};
  return run_kernel(t, Op::gather, {x, idx},
                    {{Key::offset_dims, Ints(one)},
                     {Key::collapsed_slice_dims, Ints(zero)},
                     {Key::start_index_map, Ints(zero)},
                     {Key::index_vector_dim, 1},
                     {Key::slice_sizes, Ints(sizes)},
                     {Key::mode, mode}});
}

testing::Run add_rows(Tables& t, const Value& x, const Value& idx, const Value& u, const char* combine,
                      const char* mode = "error") {
  const D one{1}, zero{0};
  return run_kernel(t, Op::scatter, {x, idx, u},
                    {{Key::update_window_dims, Ints(one)},
                     {Key::inserted_window_dims, Ints(zero)},
                     {Key::scatter_dims_to_operand_dims, Ints(zero)},
                     {Key::index_vector_dim, 1},
                     {Key::combine, combine},
                     {Key::mode, mode}});
}

TEST(Gather, RowsOfAnyStrides) {
  Tables t;
  for (const Value& x : {kX, kSwapped}) EXPECT_EQ(rows(t, x, {DType::I32, {2, 1}, {2, 0}, {}}).v, (V{5, 6, 1, 2}));
}

TEST(Gather, WindowsMoveOrAreLeftOutAsAWhole) {
  Tables t;
  const D none, window{1, 2}, map{1, 0}, sizes{2, 1};  // entries: column, row
  const Value idx{DType::I64, {2, 3}, {1, 0, 5, 0, -7, 1}, {}};
  const auto run = [&](const char* mode) {
    return run_kernel(t, Op::gather, {kX, idx},
                      {{Key::offset_dims, Ints(window)},
                       {Key::collapsed_slice_dims, Ints(none)},
                       {Key::start_index_map, Ints(map)},
                       {Key::index_vector_dim, 0},
                       {Key::slice_sizes, Ints(sizes)},
                       {Key::mode, mode}});
  };
  EXPECT_EQ(run("clip").v, (V{2, 4, 1, 3, 4, 6}));
  const V filled = run("fill").v;
  EXPECT_EQ(filled[0], 2);
  EXPECT_EQ(filled[1], 4);
  for (std::size_t k = 2; k < 6; ++k) EXPECT_TRUE(std::isnan(filled[k])) << k;
  const IndexFailure failure = run("error").failure;
  EXPECT_TRUE(failure.failed);
  EXPECT_EQ(failure.position, 2);  // the first in row-major order, not in the order of the windows
  EXPECT_EQ(failure.value, 5);
  EXPECT_EQ(failure.bound, 2);
}

TEST(Gather, HostileNumbersAreOutside) {
  Tables t;
  for (double v : {-1.0, 3.0, -9.2e18, 9.2e18})
    EXPECT_TRUE(rows(t, kX, {DType::I64, {1, 1}, {v}, {}}).failure.failed) << v;
  EXPECT_TRUE(rows(t, kX, {DType::U64, {1, 1}, {1.8e19}, {}}).failure.failed);
  EXPECT_EQ(rows(t, kX, {DType::U64, {1, 1}, {1.8e19}, {}}, "clip").v, (V{5, 6}));
  EXPECT_EQ(rows(t, kX, {DType::I64, {1, 1}, {-9.2e18}, {}}, "clip").v, (V{1, 2}));
}

TEST(Scatter, OfEqualPlacesTheLastWinsAndSumsTakeAll) {
  Tables t;
  const Value idx{DType::I64, {3, 1}, {2, 0, 2}, {}}, u{DType::F32, {3, 2}, {10, 20, 30, 40, 50, 60}, {1, 0}};
  for (const Value& x : {kX, kSwapped}) {
    EXPECT_EQ(add_rows(t, x, idx, u, "set").v, (V{30, 40, 3, 4, 50, 60}));
    EXPECT_EQ(add_rows(t, x, idx, u, "add").v, (V{31, 42, 3, 4, 65, 86}));
    EXPECT_EQ(add_rows(t, x, idx, u, "mul").v, (V{30, 80, 3, 4, 2500, 7200}));
    EXPECT_EQ(add_rows(t, x, idx, u, "max").v, (V{30, 40, 3, 4, 50, 60}));
    EXPECT_EQ(add_rows(t, x, idx, u, "min").v, (V{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Scatter, SumsRoundOnceForEachUpdateInOrder) {
  Tables t;
  const Value x{DType::F32, {1, 1}, {1}, {}}, idx{DType::I64, {3, 1}, {0, 0, 0}, {}};
  EXPECT_EQ(add_rows(t, x, idx, {DType::F32, {3, 1}, {1e8, -1e8, 1}, {}}, "add").v, V{1});
  EXPECT_EQ(add_rows(t, x, idx, {DType::F32, {3, 1}, {1, 1e8, -1e8}, {}}, "add").v, V{0});
}

TEST(Scatter, DropsOrMovesWhatIsOutside) {
  Tables t;
  const Value idx{DType::I64, {3, 1}, {-1, 1, 9}, {}}, u{DType::F32, {3, 2}, {10, 20, 30, 40, 50, 60}, {}};
  EXPECT_EQ(add_rows(t, kX, idx, u, "add", "fill").v, (V{1, 2, 33, 44, 5, 6}));
  EXPECT_EQ(add_rows(t, kX, idx, u, "add", "clip").v, (V{11, 22, 33, 44, 55, 66}));
  EXPECT_TRUE(add_rows(t, kX, idx, u, "add").failure.failed);
}

TEST(Scatter, IntoNothing) {
  Tables t;
  const Value x{DType::F32, {0, 2}, {}, {}}, idx{DType::I64, {1, 1}, {0}, {}}, u{DType::F32, {1, 2}, {1, 2}, {}};
  EXPECT_TRUE(add_rows(t, x, idx, u, "add").failure.failed);
  EXPECT_EQ(add_rows(t, x, idx, u, "add", "clip").v, V{});
  EXPECT_EQ(add_rows(t, x, idx, u, "set", "fill").v, V{});
}

}  // namespace
}  // namespace tfvm
