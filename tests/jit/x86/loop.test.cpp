// Native loops against their bodies interpreted trip by trip, on random bodies: of a given number of trips, and as long
// as a condition holds.
#include <algorithm>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "compare.h"
#include "guarded.h"
#include "jit/region/build.h"
#include "jit/region/edit.h"
#include "jit/region/run.h"
#include "random_loop.h"

namespace tfvm {

namespace {

using Rng = std::mt19937_64;

// Trip by trip, carries in memory of their own.
std::vector<std::vector<std::byte>> interpret(const RandomLoop& made) {
  std::vector<std::vector<std::byte>> memory = made.memory;
  Nest body = made.loop.body;
  const auto first = static_cast<std::uint32_t>(memory.size());
  auto count = static_cast<std::uint32_t>(made.loop.carries.size());
  for (std::uint32_t c = 0; c < count; ++c) {
    const LoopValue& v = made.loop.carries[c];
    memory.push_back(memory[body.accesses[v.access].base]);
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    const LoopValue& v = made.loop.carries[c];
    Access& a = body.accesses[v.access];
    a.base = first + c;
    memory.push_back(memory[first + c]);
    body.stores.push_back({v.next, a});
    body.stores.back().to.base = first + count + c;
  }
  const bool is_while = made.loop.condition != kNoNode;
  const std::int64_t trips = is_while ? static_cast<int>(memory[made.loop.count][0]) : made.loop.trips;
  std::vector<std::byte> more(static_cast<std::size_t>(points(body)));
  if (is_while) body.stores.push_back({made.loop.condition, row_major(first + 2 * count, DType::Bool, body.extents)});
  for (std::int64_t t = 0; t < trips; ++t) {
    Nest now = body;
    for (std::size_t k = 0; k < now.accesses.size(); ++k) now.accesses[k].offset += t * made.loop.strides[k];
    for (std::size_t k = 0; k < made.loop.store_strides.size(); ++k)
      now.stores[k].to.offset += t * made.loop.store_strides[k];
    const auto code = prepare(now);
    EXPECT_TRUE(code);
    std::vector<std::byte*> bases;
    for (auto& m : memory) bases.push_back(m.data());
    bases.push_back(more.data());
    const auto before = memory;
    auto* scratch = static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes(**code) + 127) / 64 * 64));
    run_nest(**code, bases.data(), scratch);
    std::free(scratch);
    if (is_while && std::ranges::count(more, std::byte{1}) == 0) {
      for (std::size_t k = 0; k < memory.size(); ++k) std::ranges::copy(before[k], memory[k].begin());
      break;
    }
    if (is_while) memory[made.loop.count][0] = static_cast<std::byte>(trips - 1 - t);
    for (std::uint32_t c = 0; c < count; ++c) memory[first + c].swap(memory[first + count + c]);
  }
  for (std::uint32_t c = 0; c < count; ++c) memory[made.loop.carries[c].last.base] = memory[first + c];
  memory.resize(first);
  return memory;
}

bool compare(NestCompiler& compiler, const RandomLoop& made, unsigned seed) {
  const Result<NativeNest> native = compiler.compile(made.loop);
  EXPECT_TRUE(native) << native.error().message;
  if (!native) return false;
  std::vector<std::unique_ptr<Guarded>> memory;
  std::vector<std::byte*> bases;
  for (std::size_t k = 0; k < made.memory.size(); ++k) {
    memory.push_back(std::make_unique<Guarded>(made.memory[k].size(), (seed + k) % 4 != 0));
    bases.push_back(memory.back()->data());
    if (!made.memory[k].empty()) std::memcpy(bases.back(), made.memory[k].data(), made.memory[k].size());
  }
  native->run(bases.data());
  const auto expected = interpret(made);
  for (std::size_t k = 0; k < bases.size(); ++k)
    if (!agree(expected[k].data(), bases[k], expected[k].size(), made.dtypes[k])) return false;
  return true;
}

std::string text(const LoopNest& loop) {
  std::string s = text(loop.body) + "trips " + std::to_string(loop.trips) + '\n';
  if (loop.condition != kNoNode) s += "while n" + std::to_string(loop.condition) + '\n';
  for (const LoopValue& c : loop.carries)
    s += "carry a" + std::to_string(c.access) + " of base " + std::to_string(loop.body.accesses[c.access].base) +
         " next n" + std::to_string(c.next) + " last in base " + std::to_string(c.last.base) + '\n';
  return s;
}

using MakeLoop = RandomLoop (*)(Rng& rng, const RandomNestOptions& options);

RandomLoop make_loop(Rng& rng, const RandomNestOptions& options) {
  return random_loop(rng, options, 1 + static_cast<std::int64_t>(rng() % 5));
}

const std::vector<DType> kLaneTypes{DType::Bool, DType::I32, DType::U32, DType::I64,
                                    DType::U64,  DType::F32, DType::F64};

void compare_random(unsigned seed, int count, RandomNestOptions options, int ops,
                    const std::vector<std::vector<std::int64_t>>& shapes, MakeLoop make = &make_loop) {
  options.dtypes = kLaneTypes;
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    Rng rng(seed);
    std::size_t carries = 0;
    for (int k = 0; k < count; ++k) {
      options.dtype = rng() % 100 < 40 ? DType::F32 : kLaneTypes[rng() % kLaneTypes.size()];
      options.ops = 1 + static_cast<int>(rng() % static_cast<unsigned>(ops));
      options.all_ops = rng() % 2;
      if (!shapes.empty()) options.extents = shapes[rng() % shapes.size()];
      const RandomLoop made = make(rng, options);
      carries += made.loop.carries.size();
      ASSERT_TRUE(compare(compiler, made, seed + static_cast<unsigned>(k)))
          << "loop " << k << ' ' << text(target) << '\n'
          << text(made.loop);
    }
    EXPECT_GT(carries, static_cast<std::size_t>(count));
  }
}

TEST(NativeLoop, SmallBodies) { compare_random(21, 1000, {}, 10, {}); }

TEST(NativeLoop, ManyLanes) {
  compare_random(22, 500, {}, 10,
                 {{1}, {7}, {8}, {9}, {16}, {17}, {31}, {33}, {64}, {131}, {3, 50}, {50, 3}, {2, 33, 7}, {5, 1, 9}});
}

// More values than registers, and carries that change places.
TEST(NativeLoop, LargeBodies) { compare_random(23, 150, {}, 120, {{}, {1}, {5}, {40}, {70}}); }

TEST(NativeWhile, SmallBodies) { compare_random(24, 400, {}, 10, {}, &random_while); }

TEST(NativeWhile, ManyLanes) {
  compare_random(25, 500, {}, 10, {{1}, {7}, {8}, {9}, {16}, {17}, {31}, {33}, {64}, {131}, {3, 50}, {2, 33, 7}},
                 &random_while);
}

TEST(NativeWhile, LargeBodies) { compare_random(26, 150, {}, 120, {{}, {1}, {5}, {40}, {70}}, &random_while); }

}  // namespace

}  // namespace tfvm
