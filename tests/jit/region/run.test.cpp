// The block interpreter against the point-by-point oracle on random nests: every byte of every base must agree.
#include "jit/region/run.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "bytecode/consts.h"
#include "jit/region/build.h"
#include "random_nest.h"
#include "reference.h"

namespace tfvm {

namespace {

std::vector<std::byte*> pointers(std::vector<std::vector<std::byte>>& memory) {
  std::vector<std::byte*> out;
  for (auto& m : memory) out.push_back(m.data());
  return out;
}

// Ends a nest after a few windows.
struct FewWindows : NestWatch {
  int left = 0;
};

// With numbers to draw from, it is ended now and then, and gone on with until it is through.
void run(const Nest& nest, std::vector<std::vector<std::byte>>& memory, std::mt19937_64* rng = nullptr) {
  auto code = prepare(nest);
  ASSERT_TRUE(code) << code.error().message << "\n" << text(nest);
  auto* scratch = static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes(**code) + 127) / 64 * 64));
  FewWindows watch;
  watch.look = [](NestWatch& w) { return static_cast<FewWindows&>(w).left-- > 0; };
  do {
    watch.credit = 0;
    watch.left = rng ? static_cast<int>((*rng)() % 4) : 0;
  } while (!run_nest(**code, pointers(memory).data(), scratch, rng ? &watch : nullptr));
  std::free(scratch);
}

bool is_nan(const std::byte* p, DType d) {
  if (!is_float(d)) return false;
  const double v = load_double(d, p);
  return v != v;
}

// Equal bits; of NaN the payload is free.
bool agree(const std::vector<std::byte>& a, const std::vector<std::byte>& b, DType d) {
  const auto size = static_cast<std::size_t>(size_of(d));
  for (std::size_t at = 0; at + size <= a.size(); at += size) {
    const bool same = std::memcmp(a.data() + at, b.data() + at, size) == 0;
    if (!same && !(is_nan(a.data() + at, d) && is_nan(b.data() + at, d))) return false;
  }
  return true;
}

void check(RandomNest made, std::mt19937_64* ends = nullptr) {
  auto expected = made.memory;
  reference_run(made.nest, pointers(expected).data());
  run(made.nest, made.memory, ends);
  const auto compare = [&](const Access& to) {
    ASSERT_TRUE(agree(made.memory[to.base], expected[to.base], to.dtype)) << "base " << to.base << "\n"
                                                                          << text(made.nest);
  };
  for (const Store& s : made.nest.stores) compare(s.to);
  for (const Reduction& r : made.nest.reductions) compare(r.to);
}

constexpr DType kReal[] = {DType::Bool, DType::I8,  DType::I16, DType::I32,  DType::I64, DType::U8, DType::U16,
                           DType::U32,  DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64};

TEST(RunNest, SmallElementwise) {
  std::mt19937_64 rng(1);
  for (int k = 0; k < 2000 && !testing::Test::HasFatalFailure(); ++k)
    check(random_nest(rng, {.dtype = kReal[rng() % 13], .ops = static_cast<int>(rng() % 10)}));
}

TEST(RunNest, SmallReductions) {
  std::mt19937_64 rng(2);
  for (int k = 0; k < 2000 && !testing::Test::HasFatalFailure(); ++k)
    check(random_nest(rng, {.reduce = true, .dtype = kReal[rng() % 13], .ops = static_cast<int>(rng() % 5)}));
}

const std::vector<std::int64_t> kLongShapes[] = {
    {1023},   {1024},      {1025},    {5000},    {3, 1500}, {1500, 3},      {40, 50},    {2, 33, 70}, {2100, 2},
    {65, 64}, {129, 3, 5}, {2, 2049}, {1, 4097}, {4097, 1}, {7, 11, 13, 3}, {300, 2, 9}, {3, 2, 1030}};

RandomNest long_nest(std::mt19937_64& rng, bool reduce) {
  const auto& extents = kLongShapes[rng() % std::size(kLongShapes)];
  return random_nest(rng, {.extents = extents, .reduce = reduce, .dtype = kReal[rng() % 13], .ops = 3});
}

TEST(RunNest, LongLoops) {
  std::mt19937_64 rng(3);
  for (int k = 0; k < 400 && !testing::Test::HasFatalFailure(); ++k) check(long_nest(rng, k % 2 == 0));
}

TEST(RunNest, EndedAnywhereItGoesOnWithTheSameBits) {
  std::mt19937_64 rng(5);
  for (int k = 0; k < 400 && !testing::Test::HasFatalFailure(); ++k) check(long_nest(rng, k % 2 == 0), &rng);
}

// What only moves keeps its bits: a signalling NaN is not made quiet by a copy or a bitcast.
TEST(RunNest, CopiesOfHalvesKeepNanBits) {
  std::vector<std::uint16_t> x{0x7d01, 0xfc01, 0x3c00, 0x7e00, 0x0001}, y(5), z(5);
  Nest nest = copy_nest(std::vector<std::int64_t>{5}, {0, DType::F16, 0, {1}}, {1, DType::F16, 4, {-1}});
  NestNode bits;
  bits.op = Op::bitcast;
  bits.dtype = DType::U16;
  bits.in = {0, kNoNode, kNoNode};
  nest.nodes.push_back(bits);
  nest.stores.push_back({1, {2, DType::U16, 0, {1}}});
  auto code = prepare(nest);
  ASSERT_TRUE(code);
  std::byte* bases[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data()),
                        reinterpret_cast<std::byte*>(z.data())};
  auto* scratch = static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes(**code) + 127) / 64 * 64));
  run_nest(**code, bases, scratch);
  std::free(scratch);
  EXPECT_EQ(z, x);
  std::ranges::reverse(y);
  EXPECT_EQ(y, x);
}

// An op may write where it reads, element for element.
TEST(RunNest, InPlace) {
  std::mt19937_64 rng(4);
  for (std::int64_t n : {1, 7, 1024, 3000}) {
    Nest nest;
    nest.extents = {n};
    nest.reduced = {0};
    nest.accesses = {Access{0, DType::F32, 0, {1}}};
    NestNode load, twice, last;
    load.kind = NestNodeKind::Load;
    twice.op = Op::add;
    twice.in = {0, 0, kNoNode};
    last.op = Op::mul;
    last.in = {1, 0, kNoNode};
    nest.nodes = {load, twice, last};
    nest.stores = {Store{1, Access{0, DType::F32, 0, {1}}}, Store{2, Access{1, DType::F32, 0, {1}}}};
    std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
    for (float& v : x) v = static_cast<float>(rng() % 100);
    const auto before = x;
    auto code = prepare(nest);
    ASSERT_TRUE(code);
    std::byte* bases[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
    auto* scratch = static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes(**code) + 127) / 64 * 64));
    run_nest(**code, bases, scratch);
    std::free(scratch);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(x[i], 2 * before[i]);
      ASSERT_EQ(y[i], 2 * before[i] * before[i]);
    }
  }
}

}  // namespace

}  // namespace tfvm
