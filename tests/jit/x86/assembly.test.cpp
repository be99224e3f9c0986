// The code for both instruction sets, whichever of them this machine has: each instruction is one.
#include <random>

#include <gtest/gtest.h>

#include "jit/region/block_op.h"
#include "jit/region/build.h"
#include "jit/x86/emit.h"
#include "random_loop.h"

namespace tfvm {

namespace {

constexpr DType kTypes[] = {DType::Bool, DType::I32, DType::U32, DType::I64, DType::U64,
                            DType::F32,  DType::F64, DType::F16, DType::BF16};

Status emit(const x86::NestShape& s, x86::Target target, asmjit::CodeHolder& code) {
  return x86::emit_nest(s, target, code);
}
Status emit(const x86::LoopShape& s, x86::Target target, asmjit::CodeHolder& code) {
  return x86::emit_loop(s, target, code);
}

const Nest& nest_of(const Nest& n) { return n; }
const Nest& nest_of(const LoopNest& n) { return n.body; }

// The number of targets that there is code for, of a nest or a loop.
template <class Code>
int assemble(const Code& made_of) {
  int made = 0;
  for (const bool is_avx512 : {false, true}) {
    const auto shaped = x86::take_apart(made_of, is_avx512 ? 64 : 32);
    if (!shaped || shaped->is_empty) continue;
    for (const bool few_registers : {false, true}) {
      asmjit::CodeHolder code;
      code.init(asmjit::Environment::host());
      const Status s = emit(shaped->shape, {is_avx512, few_registers, true}, code);
      EXPECT_TRUE(s) << s.error().message << (is_avx512 ? " for AVX-512 of\n" : " of\n") << text(nest_of(made_of));
      ++made;
    }
  }
  return made;
}

// Over a single point and over many.
int assemble(Op op, DType out, const std::vector<DType>& in) {
  int made = 0;
  for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{3000}}) {
    std::vector<Access> operands;
    const InlineVector<std::int64_t, 6> strides(dims.size(), 1);
    for (DType d : in) operands.push_back({static_cast<std::uint32_t>(operands.size()), d, 0, strides});
    made +=
        assemble(elementwise_nest(op, out, dims, operands, {static_cast<std::uint32_t>(in.size()), out, 0, strides}));
  }
  return made;
}

TEST(Assembly, OfEveryOp) {
  int made = 0;
  for (std::size_t k = 0; k < kOps; ++k) {
    const Op op = static_cast<Op>(k);
    if (!is_elementwise(op) || op == Op::select || op == Op::cast || op == Op::bitcast) continue;
    const bool is_predicate =
        info(op).kind == OpKind::Compare || op == Op::isnan || op == Op::isinf || op == Op::isfinite;
    for (DType d : kTypes) {
      if (!find_block_op(op, d)) continue;
      made += assemble(op, is_predicate ? DType::Bool : d, std::vector<DType>(info(op).operands.size(), d));
    }
  }
  for (DType from : kTypes) {
    made += assemble(Op::select, from, {DType::Bool, from, from});
    for (DType to : kTypes) made += assemble(Op::cast, to, {from});
  }
  EXPECT_GT(made, 2000);
}

TEST(Assembly, OfRandomNests) {
  std::mt19937_64 rng(11);
  int made = 0;
  for (int k = 0; k < 1500; ++k) {
    RandomNestOptions options;
    options.reduce = k % 3 == 0;
    options.dtype = kTypes[static_cast<std::size_t>(k) % std::size(kTypes)];
    options.dtypes.assign(std::begin(kTypes), std::end(kTypes));
    made += assemble(random_nest(rng, options).nest);
  }
  EXPECT_GT(made, 3000);
}

// Products that are checked together, lanes that are loaded one by one, and a mask that is the same for a row.
TEST(Assembly, OfStrongZerosAndRows) {
  for (DType d : {DType::F32, DType::F64})
    for (std::int64_t stride : {1, 3}) {
      Nest nest;
      nest.extents = {4, 50};
      nest.reduced = {0, 0};
      nest.accesses = {{0, d, 0, {50, stride}}, {1, d, 0, {1, 0}}, {2, DType::Bool, 0, {1, 0}}, {3, d, 0, {1, 1}}};
      nest.nodes.resize(6);
      for (std::uint32_t k = 0; k < 4; ++k) {
        nest.nodes[k].kind = NestNodeKind::Load;
        nest.nodes[k].dtype = nest.accesses[k].dtype;
        nest.nodes[k].access = k;
      }
      nest.nodes[3].in[0] = 2;
      nest.nodes[4].op = Op::zmul, nest.nodes[4].dtype = d, nest.nodes[4].in = {0, 1, kNoNode};
      nest.nodes[5].op = Op::zfma, nest.nodes[5].dtype = d, nest.nodes[5].in = {4, 1, 3};
      nest.stores.push_back({5, {4, d, 0, {50, 1}}});
      EXPECT_EQ(assemble(nest), 4);
    }
}

// Columns go from row to row, and so from page to page: lines are asked for ahead, but not where a round is over at
// once.
TEST(Assembly, OfColumnsOfTallArrays) {
  for (const Op op : {Op::reduce_sum, Op::reduce_max})
    for (const std::int64_t rows : {16, 2000}) {
      Nest nest;
      nest.extents = {rows, 1000};
      nest.reduced = {1, 0};
      nest.accesses = {{0, DType::F32, 0, {1000, 1}}};
      nest.nodes.resize(1);
      nest.nodes[0].kind = NestNodeKind::Load;
      nest.reductions.push_back({op, 0, {1, DType::F32, 0, {0, 1}}});
      const auto shaped = x86::take_apart(nest, 32);
      ASSERT_TRUE(shaped);
      EXPECT_EQ(shaped->shape.is_far, op == Op::reduce_max && rows == 2000) << rows;
      asmjit::CodeHolder code;
      code.init(asmjit::Environment::host());
      asmjit::StringLogger log;
      code.setLogger(&log);
      ASSERT_TRUE(emit(shaped->shape, {false, false, true}, code));
      EXPECT_EQ(std::string_view(log.data()).find("prefetcht0") != std::string_view::npos, shaped->shape.is_far);
    }
}

TEST(Assembly, OfRandomLoops) {
  std::mt19937_64 rng(12);
  int made = 0;
  for (int k = 0; k < 600; ++k) {
    RandomNestOptions options;
    options.dtype = kTypes[static_cast<std::size_t>(k) % 7];  // those that loops may carry
    options.dtypes.assign(std::begin(kTypes), std::begin(kTypes) + 7);
    options.ops = k % 5 == 0 ? 60 : 8;
    made += assemble((k % 2 ? random_while(rng, options) : random_loop(rng, options, 3)).loop);
  }
  EXPECT_GT(made, 2000);
}

}  // namespace

}  // namespace tfvm
