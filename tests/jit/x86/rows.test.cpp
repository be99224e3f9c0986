// Arrays of structs: neighbouring elements of each lane are loaded and stored together.
#include "jit/x86/rows.h"

#include <gtest/gtest.h>

#include "compare.h"

namespace tfvm {

namespace {

struct Aos {
  DType dtype;
  std::int64_t n, stride;              // rows, and elements from one to the next
  std::vector<std::int64_t> from, to;  // elements of a row that are loaded, and that are stored
  bool in_place = false;
  std::int64_t outer = 1;
};

// y[i, to[k]] = x[i, from[k % m]] + x[i, from[(k + 1) % m]]; in place: z[i, to[k]] = z[i, to[k]] + x[i, from[k % m]].
RandomNest made_of(const Aos& a, std::mt19937_64& rng) {
  RandomNest made;
  made.is_exact = true;
  Nest& nest = made.nest;
  nest.extents = {a.outer, a.n};
  nest.reduced = {0, 0};
  const std::int64_t span = (a.n - 1) * std::abs(a.stride);
  const auto access = [&](std::uint32_t base, std::int64_t element, std::int64_t width) {
    return Access{base, a.dtype, element + (a.stride < 0 ? span : 0), {span + width, a.stride}};
  };
  const auto load = [&](const Access& from) {
    NestNode n;
    n.kind = NestNodeKind::Load;
    n.dtype = a.dtype;
    n.access = static_cast<std::uint32_t>(nest.accesses.size());
    nest.accesses.push_back(from);
    nest.nodes.push_back(n);
    return static_cast<std::uint32_t>(nest.nodes.size() - 1);
  };
  const std::int64_t width = *std::ranges::max_element(a.from) + 1, width_out = *std::ranges::max_element(a.to) + 1;
  std::vector<std::uint32_t> loaded, old;
  for (std::int64_t e : a.from) loaded.push_back(load(access(0, e, width)));
  for (std::int64_t e : a.to)
    if (a.in_place) old.push_back(load(access(1, e, width_out)));
  for (std::size_t k = 0; k < a.to.size(); ++k) {
    NestNode n;
    n.op = Op::add;
    n.dtype = a.dtype;
    n.in = {a.in_place ? old[k] : loaded[(k + 1) % loaded.size()], loaded[k % loaded.size()], kNoNode};
    nest.nodes.push_back(n);
    nest.stores.push_back({static_cast<std::uint32_t>(nest.nodes.size() - 1), access(1, a.to[k], width_out)});
  }
  for (const std::int64_t w : {width, width_out}) {
    made.memory.emplace_back(static_cast<std::size_t>(a.outer * (span + w) * size_of(a.dtype)));
    for (std::byte& b : made.memory.back()) b = static_cast<std::byte>(rng() & 0x3b);  // no NaN
  }
  return made;
}

void compare(const Aos& a) {
  std::mt19937_64 rng(7);
  const RandomNest made = made_of(a, rng);
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (unsigned seed : {0u, 1u})
      ASSERT_EQ(compare_tiers(compiler, made, seed), Compared::Equal) << text(target) << text(made.nest);
  }
}

const std::vector<DType> kTypes{DType::F32, DType::F64, DType::I32, DType::I64};

// The memory of x and y ends with the last element of the last row, or begins with the first of the first.
TEST(NativeRows, StayInTheirArrays) {
  for (DType d : kTypes)
    for (std::int64_t n : {1, 4, 8, 9, 16, 23})
      for (std::int64_t more : {0, 1, 3})
        for (int sign : {1, -1})
          for (std::int64_t width : {2, 3, 4, 5, 7, 9}) {
            std::vector<std::int64_t> all;
            for (std::int64_t e = 0; e < width; ++e) all.push_back(e);
            compare({d, n, sign * (width + more), all, all});
            compare({d, n, sign * (width + more), all, all, true, 3});
          }
}

TEST(NativeRows, WithGaps) {
  for (DType d : kTypes)
    for (int sign : {1, -1}) {
      compare({d, 21, sign * 5, {0, 2}, {1, 3, 4}});
      compare({d, 21, sign * 5, {0, 3}, {0, 2, 4}});
      compare({d, 21, sign * 5, {1, 2, 4}, {0, 1, 3, 4}});
      compare({d, 21, sign * 4, {3, 0, 2}, {3, 0, 1}});
      compare({d, 21, sign * 9, {0, 1, 4, 8}, {8, 0, 7, 1}});
      compare({d, 21, sign * 2, {0, 1, 2, 3}, {0, 1}});  // rows that overlap
      compare({d, 21, sign * -1, {0, 1, 2, 3}, {0}});
    }
}

// A loaded row may have gaps, a stored one has none; neither is longer than 16 bytes.
TEST(FindRows, JoinsNeighbours) {
  x86::NestShape shape;
  shape.accesses = {
      {0, DType::F32, x86::Inner::Strided}, {1, DType::F32, x86::Inner::Strided}, {2, DType::F32, x86::Inner::Unit}};
  x86::LaneCode code(8, 32);
  const auto load = [&](std::uint32_t access, std::uint64_t bytes) {
    x86::LaneInst i{x86::LaneOp::Load, 4};
    i.in[0] = access;
    i.bits = bytes;
    return code.add(i);
  };
  const auto store = [&](x86::LaneId v, std::uint32_t access, std::uint64_t bytes) {
    x86::LaneInst i{x86::LaneOp::Store, 4};
    i.in[0] = v;
    i.in[1] = access;
    i.bits = bytes;
    return code.add(i);
  };
  const x86::LaneId a = load(0, 8), b = load(0, 0), c = load(0, 16), d = load(2, 0), e = load(2, 4);
  const x86::LaneId s0 = store(a, 1, 0), s1 = store(b, 1, 8), s2 = store(d, 2, 0), s3 = store(e, 1, 12);
  std::vector<x86::LaneId> order{a, b, c, d, e, s0, s1, s2, s3};
  const x86::Rows rows = x86::find_rows(code, shape, order);
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(rows.rows[0].size, 3);
  EXPECT_EQ(rows.rows[0].of, (std::array{b, x86::kNoLane, a, x86::kNoLane}));
  EXPECT_EQ(rows.rows[1].of, (std::array{s1, s3, x86::kNoLane, x86::kNoLane}));
  EXPECT_EQ(order, (std::vector{a, b, c, d, e, s0, s2, s1, s3}));
  // What is loaded behind a store may be what was stored.
  order = {a, s0, b, s1};
  EXPECT_TRUE(x86::find_rows(code, shape, order).rows.empty());
}

}  // namespace

}  // namespace tfvm
