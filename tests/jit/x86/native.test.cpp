// Native code against the block interpreter on random nests, and what is promised about its memory.
#include "jit/x86/native.h"

#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "compare.h"
#include "jit/region/build.h"
#include "jit/x86/twins.h"

namespace tfvm {

namespace {

const std::vector<DType> kLaneTypes{DType::Bool, DType::I32, DType::U32, DType::I64,
                                    DType::U64,  DType::F32, DType::F64};

void compare_random(unsigned seed, int count, RandomNestOptions options,
                    const std::vector<std::vector<std::int64_t>>& shapes) {
  options.dtypes = kLaneTypes;
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    std::mt19937_64 rng(seed);
    for (int k = 0; k < count; ++k) {
      options.dtype = kLaneTypes[rng() % kLaneTypes.size()];
      options.ops = 1 + static_cast<int>(rng() % 10);
      options.all_ops = rng() % 2;
      if (!shapes.empty()) options.extents = shapes[rng() % shapes.size()];
      const RandomNest made = random_nest(rng, options);
      const Compared c = compare_tiers(compiler, made, seed + static_cast<unsigned>(k));
      ASSERT_EQ(c, Compared::Equal) << "nest " << k << ' ' << text(target) << '\n' << text(made.nest);
    }
  }
}

TEST(NativeNest, SmallLoops) { compare_random(11, 1500, {}, {}); }

TEST(NativeNest, LongLoops) {
  compare_random(
      12, 700, {},
      {{1}, {7}, {8}, {9}, {16}, {17}, {31}, {1023}, {1025}, {3, 150}, {150, 3}, {40, 50}, {2, 33, 7}, {5, 1, 9}});
}

// 16-bit floats: nests that copy them, step in their bits or round an integer to them have no code.
void compare_halves(unsigned seed, int count, RandomNestOptions options,
                    const std::vector<std::vector<std::int64_t>>& shapes) {
  options.dtypes = {DType::F16, DType::BF16, DType::F32, DType::Bool, DType::I32};
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    std::mt19937_64 rng(seed);
    int compared = 0;
    for (int k = 0; k < count; ++k) {
      options.dtype = options.dtypes[rng() % 2];
      options.ops = 1 + static_cast<int>(rng() % 8);
      options.all_ops = rng() % 2;
      if (!shapes.empty()) options.extents = shapes[rng() % shapes.size()];
      const RandomNest made = random_nest(rng, options);
      const Compared c = compare_tiers(compiler, made, seed + static_cast<unsigned>(k));
      ASSERT_NE(c, Compared::Different) << "nest " << k << ' ' << text(target) << '\n' << text(made.nest);
      compared += c == Compared::Equal;
    }
    EXPECT_GT(compared, count / 12);
  }
}

// x[.., i, j] + y[.., j, i], large enough to run in blocks: every one of them, whole and cut into parts.
TEST(NativeNest, TransposedOperandsInBlocks) {
  std::mt19937_64 rng(41);
  for (const std::vector<std::int64_t>& dims :
       {std::vector<std::int64_t>{64, 1024}, {1024, 64}, {33, 300}, {17, 131}, {16, 128}, {300, 257}, {3, 64, 600}, {2, 3, 40, 200}})
    for (const DType d : {DType::F32, DType::F64, DType::I32, DType::F16})
      for (const CodeTarget& target : code_targets()) {
        NestCompiler compiler(target.isa, target.few_registers);
        Access across = row_major(1, d, dims);
        const std::size_t last = dims.size() - 1;
        across.strides[last] = dims[last - 1];
        across.strides[last - 1] = 1;
        const Access operands[] = {row_major(0, d, dims), across};
        RandomNest made;
        made.nest = elementwise_nest(Op::add, d, dims, operands, row_major(2, d, dims));
        std::int64_t n = 1;
        for (std::int64_t e : dims) n *= e;
        for (int k = 0; k < 3; ++k) {
          made.memory.emplace_back(static_cast<std::size_t>(n * size_of(d)));
          for (std::byte& b : made.memory.back()) b = static_cast<std::byte>(rng() & 0x3b);  // no NaN
        }
        for (unsigned seed = 0; seed < 4; ++seed)
          ASSERT_EQ(compare_tiers(compiler, made, seed), Compared::Equal) << text(target) << '\n' << text(made.nest);
      }
}

TEST(NativeNest, Halves) {
  compare_halves(31, 1500, {}, {});
  compare_halves(32, 500, {}, {{1}, {7}, {8}, {16}, {17}, {1025}, {3, 150}, {150, 3}, {40, 50}, {5, 1, 9}});
}

TEST(NativeNest, ReductionsOfHalves) {
  compare_halves(33, 800, {.reduce = true}, {});
  compare_halves(34, 300, {.reduce = true}, {{7}, {33}, {2048}, {5000}, {3, 150}, {150, 3}, {70, 50}, {4, 130, 3}});
}

// y[i, j] = x[j - low] where that is one of `count` elements, else 0; x stands between pages that can't be touched.
RandomNest padded(DType d, std::int64_t rows, std::int64_t n, std::int64_t low, std::int64_t count,
                  std::int64_t stride) {
  RandomNest made;
  made.is_exact = true;
  Nest& nest = made.nest;
  nest.extents = {rows, n};
  nest.reduced = {0, 0};
  nest.accesses = {{0, DType::I64, 0, {0, 1}}, {0, d, -low * stride, {0, stride}}};
  nest.nodes.resize(6);
  nest.nodes[0].kind = NestNodeKind::Iota;
  nest.nodes[0].dtype = DType::I64;
  const auto constant = [&](std::size_t k, std::int64_t v) {
    nest.nodes[k].kind = NestNodeKind::Constant;
    nest.nodes[k].dtype = DType::I64;
    nest.nodes[k].bits = static_cast<std::uint64_t>(v);
  };
  const auto op = [&](std::size_t k, Op o, std::uint32_t a, std::uint32_t b) {
    nest.nodes[k].op = o;
    nest.nodes[k].dtype = DType::Bool;
    nest.nodes[k].in = {a, b, kNoNode};
  };
  constant(1, low);
  constant(2, low + count);
  op(3, Op::ge, 0, 1);
  op(4, Op::lt, 0, 2);
  op(5, Op::and_, 3, 4);
  NestNode load;
  load.kind = NestNodeKind::Load;
  load.dtype = d;
  load.access = 1;
  load.in = {5, kNoNode, kNoNode};
  nest.nodes.push_back(load);
  nest.stores.push_back({6, {1, d, 0, {n, 1}}});
  const auto size = static_cast<std::size_t>(size_of(d));
  const std::int64_t elements = count == 0 ? 0 : (count - 1) * std::abs(stride) + 1;
  if (stride < 0) nest.accesses[1].offset -= (count - 1) * stride;
  made.memory = {std::vector<std::byte>(static_cast<std::size_t>(elements) * size, std::byte{7}),
                 std::vector<std::byte>(static_cast<std::size_t>(rows * n) * size)};
  return made;
}

TEST(NativeNest, LoadsUnderMasksTouchNoOtherMemory) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (DType d : {DType::F32, DType::F64, DType::I32, DType::U64})
      for (std::int64_t rows : {1, 3})
        for (std::int64_t n : {1, 2, 7, 16, 37})
          for (std::int64_t low : {0, 1, 3, 40})
            for (std::int64_t count : {0, 1, 5, 30})
              for (std::int64_t stride : {1, 0, 3, -1}) {
                if (stride == 0 && count > 0) continue;  // the element is there, or nothing is
                const RandomNest made = padded(d, rows, n, low, count, stride);
                for (unsigned seed : {0u, 1u})
                  ASSERT_EQ(compare_tiers(compiler, made, seed), Compared::Equal) << text(target) << text(made.nest);
              }
  }
}

TEST(NativeNest, SmallReductions) { compare_random(13, 1000, {.reduce = true}, {}); }

TEST(NativeNest, LongReductions) {
  compare_random(14, 500, {.reduce = true},
                 {{1},
                  {7},
                  {17},
                  {33},
                  {2047},
                  {2048},
                  {5000},
                  {3, 150},
                  {150, 3},
                  {70, 50},
                  {2, 33, 7},
                  {130, 5, 9},
                  {4, 130, 3},
                  {40, 1, 65},
                  {20, 20, 20},
                  {3, 700, 5}});
}

// Sums over rows of strong-zero products, which are asked for NaN at the end of a column's rows. `special`: where zero
// meets infinity, -1 is nowhere. In place: what is loaded is stored over, so no row may be run twice.
RandomNest strong_zero_sums(Op op, std::int64_t special, bool in_place) {
  const std::vector<std::int64_t> dims{150, 41};
  RandomNest made;
  Nest& n = made.nest;
  n.extents = dims;
  n.reduced = {1, 0};
  n.accesses = {row_major(0, DType::F32, dims), row_major(1, DType::F32, dims)};
  n.nodes.resize(3);
  for (std::uint32_t k = 0; k < 2; ++k) n.nodes[k].kind = NestNodeKind::Load, n.nodes[k].access = k;
  n.nodes[2].op = op;
  n.nodes[2].in = {0, 1, op == Op::zfma ? 0 : kNoNode};
  n.reductions.push_back({Op::reduce_sum, 2, {2, DType::F32, 0, {0, 1}}});
  NestNode next;
  next.op = Op::add;
  next.in = {0, 0, kNoNode};
  n.nodes.push_back(next);
  n.stores.push_back({3, in_place ? n.accesses[0] : Access{3, DType::F32, 0, {1, dims[0]}}});
  const auto points = static_cast<std::size_t>(dims[0] * dims[1]);
  std::vector<float> values[2];
  for (std::size_t k = 0; k < points; ++k) {
    values[0].push_back(static_cast<float>(k * 7 % 23) - 11);
    values[1].push_back(static_cast<float>(k * 5 % 17) / 4);
  }
  if (special >= 0) {
    values[0][static_cast<std::size_t>(special)] = 0;
    values[1][static_cast<std::size_t>(special)] = std::numeric_limits<float>::infinity();
  }
  for (const auto& v : values) {
    made.memory.emplace_back(points * 4);
    std::memcpy(made.memory.back().data(), v.data(), points * 4);
  }
  made.memory.emplace_back(static_cast<std::size_t>(dims[1]) * 4);
  made.memory.emplace_back(points * 4);
  return made;
}

TEST(NativeNest, SumsOfStrongZeroProducts) {
  for (const CodeTarget& target : code_targets()) {
    NestCompiler compiler(target.isa, target.few_registers);
    for (Op op : {Op::zmul, Op::zfma})
      for (std::int64_t special : {-1, 3, 41 * 70 + 20, 41 * 149 + 40})
        for (bool in_place : {false, true})
          EXPECT_EQ(compare_tiers(compiler, strong_zero_sums(op, special, in_place), 0), Compared::Equal)
              << name(op) << special << in_place << text(target);
  }
}

// Nodes of two loads and a third: differences both ways, products of them, and what else sums may have in common.
//   n3 = a - b, n4 = b - a, n5 = n3 c, n6 = c n4, n7 = -n6, n8 = n5 + n5, n9 = n7 + n7, n10 = n4 / c, n11 = n3 / c,
//   n12 = c / n3, n13 = c / n4, n14 = n3 c + n3, n15 = c n4 + n4, n16 = c n4 + n3
std::vector<NestNode> twin_nodes() {
  std::vector<NestNode> nodes(17);
  for (std::uint32_t k = 0; k < 3; ++k) nodes[k].kind = NestNodeKind::Load, nodes[k].access = k;
  const auto set = [&](std::size_t k, Op op, std::uint32_t a, std::uint32_t b = kNoNode, std::uint32_t c = kNoNode) {
    nodes[k].op = op;
    nodes[k].in = {a, b, c};
  };
  set(3, Op::sub, 0, 1), set(4, Op::sub, 1, 0), set(5, Op::mul, 3, 2), set(6, Op::mul, 2, 4), set(7, Op::neg, 6);
  set(8, Op::add, 5, 5), set(9, Op::add, 7, 7), set(10, Op::div, 4, 2), set(11, Op::div, 3, 2);
  set(12, Op::div, 2, 3), set(13, Op::div, 2, 4);
  set(14, Op::zfma, 3, 2, 3), set(15, Op::zfma, 2, 4, 4), set(16, Op::zfma, 2, 4, 3);
  return nodes;
}

TEST(NativeNest, FindsTwins) {
  x86::NestShape shape;
  shape.nodes = twin_nodes();
  for (std::uint32_t k : {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
    shape.reductions.push_back({Op::reduce_sum, k, 0, 0});
  shape.reductions.push_back({Op::reduce_max, 5, 0, 0});
  const auto twins = x86::find_twins(shape);
  std::string found;
  for (const x86::Twin& t : twins)
    found += t.of == x86::kNoTwin ? " ." : (t.is_negative ? " -" : " +") + std::to_string(t.of);
  EXPECT_EQ(found, " . -0 +0 . +3 . -5 . . . -9 . .");
}

// Where all differences of a column are zero their products have signs of their own.
TEST(NativeNest, TwinsKeepTheSignsOfZeros) {
  const std::vector<std::int64_t> dims{150, 41};
  for (int zeros : {0, 1, 41}) {
    RandomNest made;
    Nest& n = made.nest;
    n.extents = dims;
    n.reduced = {1, 0};
    n.nodes = twin_nodes();
    n.accesses = {row_major(0, DType::F32, dims), {1, DType::F32, 0, {0, 1}}, {2, DType::F32, 0, {1, 0}}};
    std::vector<float> a(150 * 41), b(41), c(150);
    for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<float>(k) / 3;
    for (std::size_t k = 0; k < c.size(); ++k) c[k] = zeros ? -1.5F : static_cast<float>(k % 19) - 8.5F;
    for (std::size_t k = 0; k < a.size(); ++k)
      a[k] = static_cast<int>(k % 41) < zeros ? b[k % 41] : static_cast<float>(k * 7 % 23);
    for (const auto& v : {a, b, c}) {
      made.memory.emplace_back(v.size() * 4);
      std::memcpy(made.memory.back().data(), v.data(), v.size() * 4);
    }
    for (std::uint32_t k : {5, 6, 7, 8, 9, 10, 11, 14, 15}) {
      n.reductions.push_back(
          {Op::reduce_sum, k, {3 + static_cast<std::uint32_t>(n.reductions.size()), DType::F32, 0, {0, 1}}});
      made.memory.emplace_back(41 * 4);
    }
    for (const CodeTarget& target : code_targets()) {
      NestCompiler compiler(target.isa, target.few_registers);
      EXPECT_EQ(compare_tiers(compiler, made, 0), Compared::Equal) << zeros << text(target);
    }
  }
}

// Places that are small are compared in lanes of four bytes, larger ones are not.
TEST(NativeNest, ComparesPlaces) {
  const std::vector<std::int64_t> dims{40, 33};
  for (std::int64_t offset : {0, 7, -5, (1 << 30) - 50, 1 << 30})
    for (std::int64_t high : {std::int64_t{0}, std::int64_t{1} << 32})
      for (Op op : {Op::eq, Op::ge, Op::ne})
        for (bool reduces : {false, true}) {
          RandomNest made;
          Nest& n = made.nest;
          n.extents = dims;
          n.reduced = {reduces, 0};
          n.accesses = {{0, DType::I64, offset + high, {1, 0}}, {0, DType::I64, offset, {0, 1}}};
          n.nodes.resize(6);
          for (std::uint32_t k = 0; k < 2; ++k)
            n.nodes[k].kind = NestNodeKind::Iota, n.nodes[k].dtype = DType::I64, n.nodes[k].access = k;
          const auto set = [&](std::size_t k, Op o, DType d, std::uint32_t a, std::uint32_t b = kNoNode) {
            n.nodes[k].op = o;
            n.nodes[k].dtype = d;
            n.nodes[k].in = {a, b, kNoNode};
          };
          set(2, op, DType::Bool, 0, 1), set(3, Op::cast, DType::F32, 2), set(4, Op::cast, DType::F32, 1);
          set(5, Op::add, DType::F32, 3, 4);
          if (reduces)
            n.reductions.push_back({Op::reduce_sum, 5, {0, DType::F32, 0, {0, 1}}});
          else
            n.stores.push_back({5, row_major(0, DType::F32, dims)});
          made.memory.emplace_back(40 * 33 * 4);
          for (const CodeTarget& target : code_targets()) {
            NestCompiler compiler(target.isa, target.few_registers);
            EXPECT_EQ(compare_tiers(compiler, made, 0), Compared::Equal) << text(n) << text(target);
          }
        }
}

// So much memory is written past the caches, where it is aligned.
TEST(NativeNest, LargeStores) {
  const std::vector<std::int64_t> dims{257, 16400};
  for (std::int64_t offset : {0, 1}) {
    RandomNest made;
    const Access operands[] = {{0, DType::F32, 0, {1, 0}}, {1, DType::F32, 0, {0, 1}}};
    const Access out{2, DType::F32, offset, {16400, 1}};
    made.nest = elementwise_nest(Op::mul, DType::F32, dims, operands, out);
    for (std::int64_t n : {257, 16400, 257 * 16400 + 1}) made.memory.emplace_back(static_cast<std::size_t>(n * 4));
    for (std::size_t k = 0; k < made.memory[1].size(); ++k) made.memory[1][k] = static_cast<std::byte>(k * 7 & 63);
    for (std::size_t k = 0; k < made.memory[0].size(); ++k) made.memory[0][k] = static_cast<std::byte>(k * 5 & 63);
    for (const CodeTarget& target : code_targets()) {
      NestCompiler compiler(target.isa, target.few_registers);
      ASSERT_EQ(compare_tiers(compiler, made, static_cast<unsigned>(offset)), Compared::Equal);
    }
  }
}

// One code serves nests that differ in extents, strides and offsets.
TEST(NativeNest, NewShapeMakesNoNewCode) {
  NestCompiler compiler;
  const auto made = [&](std::int64_t n, std::int64_t row, std::int64_t offset) {
    const std::vector<std::int64_t> dims{n, 9};
    return compiler.compile(copy_nest(dims, {0, DType::F32, offset, {row, 1}}, {1, DType::F32, 0, {9, 1}}));
  };
  for (std::int64_t n : {2, 3, 50})
    for (std::int64_t row : {10, 11, 100}) ASSERT_TRUE(made(n, row, n));
  EXPECT_EQ(compiler.counts().shapes, 1u);
}

// But for trips that the first instance had none of: then one more, which has all.
TEST(NativeNest, CodeHasTheTripsThatAreMade) {
  const auto compile = [](NestCompiler& compiler, std::int64_t n) {
    return bool(
        compiler.compile(copy_nest(std::vector<std::int64_t>{n}, {0, DType::F32, 0, {1}}, {1, DType::F32, 0, {1}})));
  };
  const auto made = [&](std::vector<std::int64_t> sizes) {
    NestCompiler compiler(Isa::Avx2);
    for (std::int64_t n : sizes) EXPECT_TRUE(compile(compiler, n));
    return compiler.counts();
  };
  EXPECT_EQ(made({3, 5, 7}).shapes, 1u);
  EXPECT_EQ(made({8, 64, 800}).shapes, 1u);
  EXPECT_EQ(made({9, 3, 8}).shapes, 1u);
  EXPECT_EQ(made({3, 9, 8, 800, 801}).shapes, 2u);
  EXPECT_EQ(made({8, 3, 9}).shapes, 2u);
  EXPECT_LT(made({8}).bytes, made({9}).bytes);
}

TEST(NativeNest, NoPageIsWritableAndExecutable) {
  NestCompiler compiler;
  ASSERT_TRUE(
      compiler.compile(copy_nest(std::vector<std::int64_t>{9}, {0, DType::F32, 0, {1}}, {1, DType::F32, 0, {1}})));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find("rwx"), line.npos) << line;
}

TEST(NativeNest, ListsItsCode) {
  NestCompiler compiler(Isa::Avx2);
  const Result<std::string> text =
      compiler.listing(copy_nest(std::vector<std::int64_t>{9}, {0, DType::F32, 0, {1}}, {1, DType::F32, 0, {1}}));
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("vmovups"), text->npos) << *text;
}

// Of few registers no other is named, and what doesn't fit goes to memory.
TEST(NativeNest, FewRegistersSpill) {
  const std::vector<std::int64_t> dims{100};
  const Access operands[] = {{0, DType::F32, 0, {1}}};
  const Nest nest = elementwise_nest(Op::tan, DType::F32, dims, operands, {1, DType::F32, 0, {1}});
  const auto listing = [&](bool few) { return *NestCompiler(Isa::Avx2, few).listing(nest); };
  const auto moves = [](const std::string& text) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find("vmovups [rsp", at)) != text.npos; ++at) ++n;
    return n;
  };
  const std::string many = listing(false), few = listing(true);
  EXPECT_NE(many.find("ymm5"), many.npos);
  for (int r = 5; r < 16; ++r) EXPECT_EQ(few.find("ymm" + std::to_string(r)), few.npos) << r;
  EXPECT_GT(moves(few), moves(many)) << few;
}

}  // namespace

}  // namespace tfvm
