// Points that are left behind whole trips, and trips that are run again.
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "compare.h"
#include "jit/region/build.h"

namespace tfvm {

namespace {

constexpr std::int64_t kSizes[] = {1, 2, 3, 7, 8, 9, 13, 15, 16, 17, 31, 37, 64, 67};

std::uint32_t add(Nest& n, NestNode node) {
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

std::uint32_t op(Nest& n, Op o, DType d, std::uint32_t a, std::uint32_t b, std::uint32_t c = kNoNode) {
  NestNode node;
  node.op = o;
  node.dtype = d;
  node.in = {a, b, c};
  return add(n, node);
}

std::uint32_t load(Nest& n, const Access& a, std::uint32_t mask = kNoNode) {
  n.accesses.push_back(a);
  NestNode node;
  node.kind = NestNodeKind::Load;
  node.dtype = a.dtype;
  node.access = static_cast<std::uint32_t>(n.accesses.size() - 1);
  node.in[0] = mask;
  return add(n, node);
}

void fill(RandomNest& made, DType d, std::int64_t elements) {
  made.memory.emplace_back(static_cast<std::size_t>(elements * size_of(d)));
  for (std::int64_t k = 0; k < elements; ++k) {
    std::byte* to = made.memory.back().data() + k * size_of(d);
    const auto x = static_cast<double>(k * 7 % 23) - 11;
    const auto small = static_cast<float>(x);
    const auto whole = static_cast<std::int32_t>(x);
    if (d == DType::F64) std::memcpy(to, &x, 8);
    if (d == DType::F32) std::memcpy(to, &small, 4);
    if (d == DType::I32) std::memcpy(to, &whole, 4);
  }
}

enum class Store : std::uint8_t { Apart, AcrossRows, InPlace };

// x + x by rows, into other memory or over x, which a second trip over the same points would add to once more.
RandomNest doubled(DType d, std::int64_t rows, std::int64_t n, Store to) {
  RandomNest made;
  const std::vector<std::int64_t> dims{rows, n};
  const Access x{0, d, 0, {n + 3, 1}};
  const Access out = to == Store::InPlace ? x
                     : to == Store::Apart ? Access{1, d, 0, {n + 3, 1}}
                                          : row_major(1, d, dims);
  made.nest = elementwise_nest(Op::add, d, dims, std::vector<Access>{x, x}, out);
  fill(made, d, rows * (n + 3));
  fill(made, d, rows * (n + 3));
  return made;
}

TEST(NativeRest, LastPointsAreMadeOnce) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (DType d : {DType::F32, DType::F64, DType::I32})
      for (std::int64_t rows : {1, 3})
        for (std::int64_t n : kSizes)
          for (Store to : {Store::Apart, Store::AcrossRows, Store::InPlace})
            for (unsigned seed : {0u, 1u, 2u})
              ASSERT_EQ(compare_tiers(compiler, doubled(d, rows, n, to), seed), Compared::Equal)
                  << text(target) << text(doubled(d, rows, n, to).nest);
  }
}

// Bases of different numbers that are the same memory.
TEST(NativeRest, BasesMayBeTheSameMemory) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (std::int64_t n : kSizes) {
      const auto code = compiler.compile(doubled(DType::F32, 2, n, Store::Apart).nest);
      ASSERT_TRUE(code);
      std::vector<float> x(static_cast<std::size_t>(2 * (n + 3)), 1.5F);
      std::byte* const bases[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(x.data())};
      code->run(bases);
      for (std::size_t k = 0; k < x.size(); ++k)
        ASSERT_EQ(x[k], static_cast<std::int64_t>(k) % (n + 3) < n ? 3.0F : 1.5F) << n << ' ' << k << text(target);
    }
  }
}

// One code has whole trips and what is left where a trip may be run again, and needs no other for it.
TEST(NativeRest, GoesBackInTheSameCode) {
  if (!NestCompiler::is_available()) return;
  NestCompiler compiler(Isa::Avx2);
  const auto bytes = [&](std::int64_t n) {
    EXPECT_TRUE(compiler.compile(doubled(DType::F32, 3, n, Store::AcrossRows).nest));
    return compiler.counts().bytes;
  };
  const std::size_t first = bytes(64);
  EXPECT_EQ(bytes(67), first);
  EXPECT_GT(bytes(5), first);
}

// y[i, j] = x[i - 2, j] where there is such a row, else 0: a mask that is the same along a row.
TEST(NativeRest, MasksOfRowsTouchNoOtherMemory) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (DType d : {DType::F32, DType::F64, DType::I32})
      for (std::int64_t n : kSizes)
        for (std::int64_t rows : {0, 1, 4}) {
          RandomNest made;
          made.is_exact = true;
          Nest& nest = made.nest;
          nest.extents = {7, n};
          nest.reduced = {0, 0};
          nest.accesses = {{0, DType::I32, 0, {1, 0}}};
          NestNode row, bound;
          row.kind = NestNodeKind::Iota;
          bound.kind = NestNodeKind::Constant;
          row.dtype = bound.dtype = DType::I32;
          const auto i = add(nest, row);
          const auto limit = [&](std::int64_t v) {
            return bound.bits = static_cast<std::uint64_t>(v), add(nest, bound);
          };
          const auto first = op(nest, Op::ge, DType::Bool, i, limit(2));
          const auto last = op(nest, Op::lt, DType::Bool, i, limit(2 + rows));
          const auto mask = op(nest, Op::and_, DType::Bool, first, last);
          const auto x = load(nest, {0, d, -2 * n, {n, 1}}, mask);
          nest.stores.push_back({op(nest, Op::add, d, x, x), {1, d, 0, {n, 1}}});
          fill(made, d, rows * n);
          fill(made, d, 7 * n);
          for (unsigned seed : {0u, 1u})
            ASSERT_EQ(compare_tiers(compiler, made, seed), Compared::Equal) << text(target) << text(nest);
        }
  }
}

// Of x and y: p = x y, q = fma(x, p, y), r = q - p, all with strong zeros; infinity meets zero at `special`. In place:
// r is stored over x.
RandomNest strong_zeros(DType d, std::int64_t n, std::int64_t special, bool in_place) {
  RandomNest made;
  Nest& nest = made.nest;
  if (n > 1) nest.extents = {n}, nest.reduced = {0};
  const auto at = [&](std::uint32_t base) { return n > 1 ? Access{base, d, 0, {1}} : Access{base, d, 0, {}}; };
  const auto x = load(nest, at(0)), y = load(nest, at(1));
  const auto p = op(nest, Op::zmul, d, x, y), q = op(nest, Op::zfma, d, x, p, y), r = op(nest, Op::sub, d, q, p);
  nest.stores = {{r, at(in_place ? 0 : 2)}, {op(nest, Op::ge, DType::Bool, p, x), at(3)}};
  nest.stores[1].to.dtype = DType::Bool;
  for (int k = 0; k < 3; ++k) fill(made, d, n);
  made.memory.emplace_back(static_cast<std::size_t>(n));
  if (special < 0) return made;
  const auto put = [&](std::size_t base, double v) {
    const auto small = static_cast<float>(v);
    std::byte* to = made.memory[base].data() + special * size_of(d);
    d == DType::F64 ? std::memcpy(to, &v, 8) : std::memcpy(to, &small, 4);
  };
  put(0, 0), put(1, std::numeric_limits<double>::infinity());
  return made;
}

TEST(NativeRest, SeveralStrongZeroProducts) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (DType d : {DType::F32, DType::F64})
      for (std::int64_t n : kSizes)
        for (std::int64_t special : {std::int64_t{-1}, std::int64_t{0}, n / 2, n - 1})
          for (bool in_place : {false, true}) {
            const RandomNest made = strong_zeros(d, n, special, in_place);
            ASSERT_EQ(compare_tiers(compiler, made, 0), Compared::Equal) << special << text(target) << text(made.nest);
          }
  }
}

}  // namespace

}  // namespace tfvm
