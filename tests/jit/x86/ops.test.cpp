// Every op over special values: native code gives the bits of the block interpreter.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "compare.h"
#include "jit/region/block_op.h"
#include "jit/region/build.h"

namespace tfvm {

namespace {

constexpr DType kLaneTypes[] = {DType::Bool, DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64};

// Random bits among values at which something happens.
std::vector<std::byte> values(std::mt19937_64& rng, DType d, std::int64_t n) {
  constexpr double kSpecial[] = {
      0.0,      -0.0,      1.0,    -1.0,         0.5,        2.0,     1e-40,  -1e-40,
      1e-310,   1e38,      -1e38,  1e300,        0x1p23,     0x1p24,  0x1p31, -0x1p31,
      0x1p32,   0x1p51,    0x1p52, 0x1p53,       0x1p63,     -0x1p63, 0x1p64, 0x1p127,
      INFINITY, -INFINITY, NAN,    88.7,         -103.9,     709.7,   -745.1, 3.14159265358979,
      1e5,      1e9,       1e22,   2147483647.0, -0.9999999, 33.0,    64.0,   9007199254740993.0};
  std::vector<std::byte> out(static_cast<std::size_t>(n * size_of(d)));
  for (std::int64_t i = 0; i < n; ++i) {
    std::byte* to = out.data() + i * size_of(d);
    const std::uint64_t r = rng();
    const auto store = [&](double v) { find_cast(DType::F64, d)(to, &v, nullptr, nullptr, 1); };
    if (d == DType::Bool) {
      *to = static_cast<std::byte>(r & 1);
    } else if (r % 3 == 0) {
      store(kSpecial[(r >> 8) % std::size(kSpecial)]);
    } else if (r % 3 == 1 && is_float(d)) {
      store(static_cast<double>(static_cast<std::int64_t>(rng()) >> (r % 20 + 30)) / 4096.0);
    } else {
      const std::uint64_t bits = rng() >> (is_float(d) ? 0 : r % 60);
      std::memcpy(to, &bits, static_cast<std::size_t>(size_of(d)));
    }
  }
  return out;
}

RandomNest nest_of(std::mt19937_64& rng, Op op, DType out, const std::vector<DType>& in, std::int64_t n) {
  RandomNest made;
  const std::vector<std::int64_t> dims{n};
  std::vector<Access> operands;
  for (DType d : in) {
    operands.push_back({static_cast<std::uint32_t>(operands.size()), d, 0, {1}});
    made.memory.push_back(values(rng, d, n));
  }
  const auto base = static_cast<std::uint32_t>(in.size());
  made.memory.emplace_back(static_cast<std::size_t>(n * size_of(out)));
  made.nest = elementwise_nest(op, out, dims, operands, {base, out, 0, {1}});
  return made;
}

class EveryOp : public testing::Test {
 protected:
  std::mt19937_64 rng{5};
  void check(Op op, DType out, const std::vector<DType>& in) {
    for (std::int64_t n : {1, 5, 8, 19, 3000}) check(op, nest_of(rng, op, out, in, n), n);
  }
  void check(Op op, const RandomNest& made, std::int64_t n) {
    for (const CodeTarget& target : code_targets()) {
      NestCompiler compiler(target.isa, target.few_registers);
      ASSERT_EQ(compare_tiers(compiler, made, static_cast<unsigned>(n)), Compared::Equal)
          << name(op) << " to " << name(made.nest.accesses.back().dtype) << " n " << n << ' ' << text(target);
    }
  }
};

TEST_F(EveryOp, OfOneDType) {
  for (std::size_t k = 0; k < kOps; ++k)
    for (DType d : kLaneTypes) {
      const Op op = static_cast<Op>(k);
      if (!is_elementwise(op) || op == Op::select || !find_block_op(op, d)) continue;
      const bool is_predicate =
          info(op).kind == OpKind::Compare || op == Op::isnan || op == Op::isinf || op == Op::isfinite;
      check(op, is_predicate ? DType::Bool : d, std::vector<DType>(info(op).operands.size(), d));
    }
}

TEST_F(EveryOp, OfHalves) {
  for (std::size_t k = 0; k < kOps; ++k)
    for (DType d : {DType::F16, DType::BF16}) {
      const Op op = static_cast<Op>(k);
      const bool is_of_bits = op == Op::nextafter || op == Op::bitcast;
      if (!is_elementwise(op) || op == Op::select || op == Op::cast || is_of_bits || !find_block_op(op, DType::F32))
        continue;
      const bool is_predicate =
          info(op).kind == OpKind::Compare || op == Op::isnan || op == Op::isinf || op == Op::isfinite;
      check(op, is_predicate ? DType::Bool : d, std::vector<DType>(info(op).operands.size(), d));
    }
  for (DType d : {DType::F16, DType::BF16}) {
    check(Op::select, d, {DType::Bool, d, d});
    for (DType from : {DType::F16, DType::BF16, DType::F32, DType::Bool})
      if (from != d) check(Op::cast, d, {from});
    for (DType to : kLaneTypes) check(Op::cast, to, {d});
  }
}

// Next to whole quotients, where a rounding would show.
TEST_F(EveryOp, DivisionOfMultiples) {
  constexpr std::int64_t n = 4000;
  for (DType d : {DType::I32, DType::U32})
    for (Op op : {Op::div, Op::rem}) {
      RandomNest made = nest_of(rng, op, d, {d, d}, n);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto by = static_cast<std::uint32_t>(rng() >> (33 + rng() % 31));
        const auto a = static_cast<std::uint32_t>(rng() % ((std::uint64_t{1} << 31) / (by + 1ull))) * by +
                       static_cast<std::uint32_t>(i % 3) - 1;
        std::memcpy(made.memory[0].data() + 4 * i, &a, 4);
        std::memcpy(made.memory[1].data() + 4 * i, &by, 4);
      }
      check(op, made, n);
    }
}

TEST_F(EveryOp, Select) {
  for (DType d : kLaneTypes) check(Op::select, d, {DType::Bool, d, d});
}

TEST_F(EveryOp, Cast) {
  for (DType from : kLaneTypes)
    for (DType to : kLaneTypes) {
      check(Op::cast, to, {from});
      if (size_of(from) == size_of(to)) check(Op::bitcast, to, {from});
    }
}

}  // namespace

}  // namespace tfvm
