// Rows at places that an index says, the same for all of a row's elements.
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "compare.h"

namespace tfvm {

namespace {

enum class Sum : std::uint8_t { None, OfRows, WithinRows };

struct RowsCase {
  DType dtype;
  std::int64_t picked, row, rows;  // how many; elements of each; of x
  bool masked;                     // some indices are far outside, and read nothing
  Sum sum;
};

std::uint32_t add(Nest& n, NestNode node) {
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

// y[i, j] = x[place[i] + j], or sums of that; x stands between pages that can't be touched. The first and the last row
// are among those that are read.
RandomNest rows(const RowsCase& c) {
  RandomNest made;
  made.is_exact = true;
  Nest& nest = made.nest;
  nest.extents = {c.picked, c.row};
  nest.reduced = {c.sum == Sum::OfRows, c.sum == Sum::WithinRows};
  nest.accesses = {{0, DType::I32, 0, {1, 0}}, {1, c.dtype, 0, {0, 1}}};
  NestNode place, load, most, inside;
  place.kind = load.kind = NestNodeKind::Load;
  place.dtype = most.dtype = DType::I32;
  load.in[1] = add(nest, place);
  if (c.masked) {
    most.kind = NestNodeKind::Constant;
    most.bits = static_cast<std::uint32_t>((c.rows - 1) * c.row);
    inside.op = Op::le;
    inside.dtype = DType::Bool;
    inside.in = {0, add(nest, most), kNoNode};
    load.in[0] = add(nest, inside);
  }
  load.dtype = c.dtype;
  load.access = 1;
  const std::uint32_t value = add(nest, load);
  const std::int64_t results = c.sum == Sum::OfRows ? c.row : c.sum == Sum::WithinRows ? c.picked : c.picked * c.row;
  if (c.sum == Sum::None) nest.stores.push_back({value, {2, c.dtype, 0, {c.row, 1}}});
  if (c.sum == Sum::OfRows) nest.reductions.push_back({Op::reduce_sum, value, {2, c.dtype, 0, {0, 1}}});
  if (c.sum == Sum::WithinRows) nest.reductions.push_back({Op::reduce_sum, value, {2, c.dtype, 0, {1, 0}}});
  const auto memory = [&](std::int64_t elements, DType d) {
    made.memory.emplace_back(static_cast<std::size_t>(elements * size_of(d)));
  };
  memory(c.picked, DType::I32);
  memory(c.rows * c.row, c.dtype);
  memory(results, c.dtype);
  for (std::int64_t k = 0; k < c.picked; ++k) {
    auto at = static_cast<std::int32_t>((k == 0 ? c.rows - 1 : k * 7 % c.rows) * c.row);
    if (c.masked && k % 3 == 2) at = std::numeric_limits<std::int32_t>::max();
    std::memcpy(made.memory[0].data() + 4 * k, &at, 4);
  }
  for (std::int64_t k = 0; k < c.rows * c.row; ++k) {
    const auto small = static_cast<float>(k % 101);
    const auto large = static_cast<double>(k % 101);
    std::byte* to = made.memory[1].data() + k * size_of(c.dtype);
    c.dtype == DType::F64 ? std::memcpy(to, &large, 8) : std::memcpy(to, &small, 4);
  }
  return made;
}

TEST(NativePick, RowsTouchNoOtherMemory) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (DType d : {DType::F32, DType::F64, DType::I32})
      for (std::int64_t picked : {1, 5, 40})
        for (std::int64_t row : {1, 3, 8, 16, 37, 200})
          for (bool masked : {false, true})
            for (Sum sum : {Sum::None, Sum::OfRows, Sum::WithinRows})
              for (unsigned seed : {0u, 1u, 2u, 3u}) {
                const RandomNest made = rows({d, picked, row, 9, masked, sum});
                ASSERT_EQ(compare_tiers(compiler, made, seed), Compared::Equal) << text(target) << text(made.nest);
              }
  }
}

// A load of a vector, not of lanes one by one.
TEST(NativePick, RowsAreVectors) {
  if (!NestCompiler::is_available()) return;
  for (Sum sum : {Sum::None, Sum::OfRows}) {
    const Result<std::string> text = NestCompiler(Isa::Avx2).listing(rows({DType::F32, 50, 64, 9, false, sum}).nest);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->find("gather"), text->npos) << *text;
    EXPECT_NE(text->find("movsxd"), text->npos) << *text;
  }
}

}  // namespace

}  // namespace tfvm
