// Native loops against their bodies interpreted trip by trip, on random bodies.
#include "jit/x86/loop.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "compare.h"
#include "guarded.h"
#include "jit/region/build.h"
#include "jit/region/run.h"

namespace tfvm {

namespace {

using Rng = std::mt19937_64;

bool chance(Rng& rng, int percent) { return static_cast<int>(rng() % 100) < percent; }

struct RandomLoop {
  LoopNest loop;
  std::vector<std::vector<std::byte>> memory;  // per base
  std::vector<DType> dtypes;                   // of what is stored there
};

std::int64_t points(const Nest& n) {
  std::int64_t p = 1;
  for (std::int64_t e : n.extents) p *= e;
  return p;
}

// `count` copies of the memory, each with its elements moved round by one more.
std::vector<std::byte> stacked(const std::vector<std::byte>& m, std::int64_t count, std::size_t size) {
  std::vector<std::byte> out;
  const std::size_t n = m.size() / size;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
    for (std::size_t e = 0; e < n; ++e) {
      const auto from = m.begin() + static_cast<std::ptrdiff_t>((e + k) % n * size);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(size));
    }
  return out;
}

// The access moves from trip to trip, forwards or backwards.
std::int64_t stack(Rng& rng, RandomLoop& out, Access& a) {
  auto& m = out.memory[a.base];
  const auto size = static_cast<std::size_t>(size_of(a.dtype));
  const auto rows = static_cast<std::int64_t>(m.size() / size);
  m = stacked(m, out.loop.trips, size);
  if (chance(rng, 60)) return rows;
  a.offset += rows * (out.loop.trips - 1);
  return -rows;
}

RandomLoop random_loop(Rng& rng, RandomNestOptions options, std::int64_t trips) {
  options.picks = false;
  RandomNest made = random_nest(rng, options);
  RandomLoop out;
  out.loop.body = std::move(made.nest);
  out.loop.trips = trips;
  out.memory = std::move(made.memory);
  Nest& body = out.loop.body;
  const std::int64_t n = points(body);
  out.loop.strides.assign(body.accesses.size(), 0);
  for (NestNode& node : body.nodes) {
    if (node.kind != NestNodeKind::Load) continue;
    Access& a = body.accesses[node.access];
    const auto size = static_cast<std::size_t>(size_of(a.dtype));
    if (n > 0 && chance(rng, 60)) {
      std::vector<std::uint32_t> nexts;
      for (std::uint32_t k = 0; k < body.nodes.size(); ++k)
        if (body.nodes[k].dtype == node.dtype) nexts.push_back(k);
      std::vector<std::byte> m = stacked(out.memory[a.base], n, size);
      m.resize(static_cast<std::size_t>(n) * size);
      out.memory[a.base] = m;
      a = row_major(a.base, a.dtype, body.extents);
      Access last = a;
      if (chance(rng, 70)) {
        last.base = static_cast<std::uint32_t>(out.memory.size());
        out.memory.push_back(m);
      }
      out.loop.carries.push_back({node.access, nexts[rng() % nexts.size()], last});
    } else if (chance(rng, 50)) {
      out.loop.strides[node.access] = stack(rng, out, a);
    }
  }
  for (Store& s : body.stores) out.loop.store_strides.push_back(chance(rng, 80) ? stack(rng, out, s.to) : 0);
  out.dtypes.assign(out.memory.size(), DType::U8);
  for (const Store& s : body.stores) out.dtypes[s.to.base] = s.to.dtype;
  for (const LoopValue& c : out.loop.carries) out.dtypes[c.last.base] = c.last.dtype;
  return out;
}

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
    body.accesses[v.access].base = first + c;
    memory.push_back(memory[first + c]);
    body.stores.push_back({v.next, row_major(first + count + c, v.last.dtype, body.extents)});
  }
  for (std::int64_t t = 0; t < made.loop.trips; ++t) {
    Nest now = body;
    for (std::size_t k = 0; k < now.accesses.size(); ++k) now.accesses[k].offset += t * made.loop.strides[k];
    for (std::size_t k = 0; k < made.loop.store_strides.size(); ++k)
      now.stores[k].to.offset += t * made.loop.store_strides[k];
    const auto code = prepare(now);
    EXPECT_TRUE(code);
    std::vector<std::byte*> bases;
    for (auto& m : memory) bases.push_back(m.data());
    auto* scratch = static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes(**code) + 127) / 64 * 64));
    run_nest(**code, bases.data(), scratch);
    std::free(scratch);
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
  for (const LoopValue& c : loop.carries)
    s += "carry a" + std::to_string(c.access) + " of base " + std::to_string(loop.body.accesses[c.access].base) +
         " next n" + std::to_string(c.next) + " last in base " + std::to_string(c.last.base) + '\n';
  return s;
}

const std::vector<DType> kLaneTypes{DType::Bool, DType::I32, DType::U32, DType::I64,
                                    DType::U64,  DType::F32, DType::F64};

void compare_random(unsigned seed, int count, RandomNestOptions options, int ops,
                    const std::vector<std::vector<std::int64_t>>& shapes) {
  options.dtypes = kLaneTypes;
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    Rng rng(seed);
    std::size_t carries = 0;
    for (int k = 0; k < count; ++k) {
      options.dtype = chance(rng, 40) ? DType::F32 : kLaneTypes[rng() % kLaneTypes.size()];
      options.ops = 1 + static_cast<int>(rng() % static_cast<unsigned>(ops));
      options.all_ops = rng() % 2;
      if (!shapes.empty()) options.extents = shapes[rng() % shapes.size()];
      const RandomLoop made = random_loop(rng, options, 1 + static_cast<std::int64_t>(rng() % 5));
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

}  // namespace

}  // namespace tfvm
