// Nests that are run on the blocks of a product as they are done, against the interpreter, which runs one after the
// other.
#include "vm/plan/epilogues.h"

#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "made.h"
#include "vm/tiers.h"

namespace tfvm {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::string_view kProgram = R"(
func @bias(%x: f[m,k], %w: f[k,n], %b: f[n]) {
  %p = matmul %x, %w
  %z = add %p, %b
  %y = relu %z
  ret %y
}
// A mask is kept, too.
func @step(%x: f[m,k], %d: f[m,n], %w: f[k,n]) {
  %g = dot_general %x, %d {contract=[[0], [0]]}
  %s = mul %g, 0.01
  %v = sub %w, %s
  %up = gt %g, 0.0
  ret %v, %up
}
// What the product reads is read by the nest, too.
func @chain(%x: f[m,n], %w: f[n,n]) {
  %y = tanh %x
  %p = matmul %y, %w
  %z = add %y, %p
  %q = matmul %z, %w
  ret %q
}
func @residual(%x: f[m,n], %w: f[n,n]) {
  %p = matmul %x, %w
  %z = add %x, %p
  ret %z
}
func @lots(%x: f[l,m,k], %w: f[l,k,n], %b: f[n]) {
  %p = matmul %x, %w
  %y = sub %p, %b
  ret %y
}
// What the product reads was to be updated in place, and the nest is the last step.
func @updated(%x: f[n,n], %u: f[1,n], %b: f[n]) {
  %e = exp %x
  %y = dynamic_update_slice %e, %u, 0, 0
  %z = mul %y, 0.5
  %p = matmul %e, %z
  %q = add %p, %b
  ret %q
}
// One loop over all elements.
func @scaled(%x: f[m,k], %w: f[k,n]) {
  %p = matmul %x, %w
  %y = mul %p, 0.5
  ret %y
}
// Goes across.
func @across(%x: f[m,k], %w: f[k,n], %b: f[n,m]) {
  %p = matmul %x, %w
  %t = transpose %p {perm=[1, 0]}
  %y = add %t, %b
  ret %y
}
// The nest stands behind others, and needs what is made before the product only.
func @later(%x: f[m,k], %w: f[k,n], %b: f[n]) {
  %c = exp %b
  %s = sort %c
  %p = matmul %x, %w
  %q = matmul %x, %w
  %o = sort %q
  %y = mul %p, %s
  ret %y, %o
}
)";

Tensor tensor(DType dtype, const Shape& dims, int seed) {
  Tensor t = *Tensor::make(std::make_shared<Budget>(), dtype, dims);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const double v = static_cast<double>((i * 7919 + seed * 31) % 1009 - 504) / 256;
    if (dtype == DType::F64)
      reinterpret_cast<double*>(t.data())[i] = v;
    else
      reinterpret_cast<float*>(t.data())[i] = static_cast<float>(v);
  }
  return t;
}

// How many products have an epilogue that can be run on blocks.
std::size_t epilogues(const Plan& plan) {
  std::size_t n = 0;
  for (std::size_t i = 0; i + 1 < plan.steps.size(); ++i) {
    if (plan.steps[i].kind != StepKind::Kernel || !plan.kernels[plan.steps[i].index].has_epilogue) continue;
    const KernelStep& k = plan.kernels[plan.steps[i].index];
    const auto& native = plan.nests[plan.steps[i + 1].index].native;  // null in builds without code
    const NativeNest* code = native ? native->ready() : nullptr;
    n += code && code->has_tiles(k.kernel.rows, k.kernel.cols);
  }
  return n;
}

// The same bits as the interpreter's. How many epilogues there are.
std::size_t run(std::string_view program, std::string_view f, DType dtype, const std::vector<Shape>& dims) {
  std::size_t count = 0;
  const auto compare = [&] {
    std::vector<Tensor> in;
    for (const Shape& d : dims) in.push_back(tensor(dtype, d, static_cast<int>(in.size())));
    test::Made plain({.tier = Tier::Interp}, program, f, in);
    const auto expected = plain.call(in);
    ASSERT_TRUE(expected);
    for (const std::optional<Isa> isa : {std::optional<Isa>{}, std::optional<Isa>{Isa::Avx2}}) {
      test::Made fast({.tier = Tier::Jit, .isa = isa}, program, f, in);
      count = epilogues(*fast.f.plan);
      for (int round = 0; round < 2; ++round) {
        const auto got = fast.call(in);
        ASSERT_TRUE(got);
        for (std::size_t r = 0; r < got->size(); ++r)
          ASSERT_EQ(std::memcmp((*got)[r].data(), (*expected)[r].data(), static_cast<std::size_t>((*got)[r].bytes())),
                    0)
              << program << f << " result " << r;
      }
    }
  };
  compare();
  return count;
}

void expect_epilogues(std::size_t count, std::string_view f, const std::vector<Shape>& dims) {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const std::size_t found = run(kProgram, f, dtype, dims);
    if (NestCompiler::is_available()) {
      EXPECT_EQ(found, count) << f;
    }
  }
}

TEST(Epilogues, OfABias) {
  expect_epilogues(1, "bias", {{100, 300}, {300, 70}, {70}});
  expect_epilogues(1, "bias", {{200, 784}, {784, 512}, {512}});
}
TEST(Epilogues, OverSeveralBlocksOfColumns) { expect_epilogues(1, "bias", {{131, 260}, {260, 1101}, {1101}}); }
TEST(Epilogues, OfAnUpdate) { expect_epilogues(1, "step", {{40, 130}, {40, 600}, {130, 600}}); }
TEST(Epilogues, OfOneLoop) {
  expect_epilogues(1, "scaled", {{130, 40}, {40, 1104}});
  expect_epilogues(0, "scaled", {{130, 40}, {40, 1101}});  // rows are no whole trips
}
TEST(Epilogues, OfSeveralLots) { expect_epilogues(1, "lots", {{3, 100, 64}, {3, 64, 96}, {96}}); }
TEST(Epilogues, OfATransposedProduct) { expect_epilogues(1, "bias", {{1000, 40}, {40, 9}, {9}}); }
TEST(Epilogues, KeepWhatTheProductReads) { expect_epilogues(1, "chain", {{100, 600}, {600, 600}}); }
TEST(Epilogues, LeaveMemoryThatACallerMayShare) { expect_epilogues(0, "residual", {{100, 600}, {600, 600}}); }
TEST(Epilogues, AreNotThoseThatGoAcross) { expect_epilogues(0, "across", {{100, 60}, {60, 80}, {80, 100}}); }
TEST(Epilogues, MoveUp) { expect_epilogues(1, "later", {{100, 60}, {60, 80}, {80}}); }
TEST(Epilogues, AreNoReadersOfWhatWasToBeUpdated) {
  const std::vector<Shape> dims{{96, 96}, {1, 96}, {96}};
  expect_epilogues(1, "updated", dims);
  std::vector<Tensor> in;
  for (const Shape& d : dims) in.push_back(tensor(DType::F32, d, static_cast<int>(in.size())));
  const test::Made made({.tier = Tier::Jit}, kProgram, "updated", in);
  ASSERT_EQ(made.f.plan->updates.size(), 1u);
  EXPECT_NE(made.f.plan->updates[0].why.find("is read later by dot_general"), std::string::npos)
      << made.f.plan->updates[0].why;
}
TEST(Epilogues, OfSmallProductsAreSteps) { expect_epilogues(0, "bias", {{10, 10}, {10, 10}, {10}}); }

// Products of any size with a few ops behind them, of rows, columns, scalars and matrices.
TEST(Epilogues, Random) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::size_t found = 0;
  for (int k = 0; k < 60 && !HasFailure(); ++k) {
    const auto m = static_cast<std::int64_t>(1 + below(300)), n = static_cast<std::int64_t>(1 + below(700));
    const auto inner = static_cast<std::int64_t>(1 + below(below(4) == 0 ? 600 : 60));
    constexpr const char* kOps[] = {"add", "sub", "mul", "max", "zmul"};
    constexpr const char* kOperands[] = {"%row", "%column", "%matrix", "%p", "0.5"};
    std::string text =
        "func @f(%x: f[m,k], %w: f[k,n], %row: f[n], %column: f[m,1], %matrix: f[m,n]) {\n  %p = matmul %x, %w\n";
    std::string last = "%p", results;
    for (std::size_t op = 0, count = 1 + below(4); op < count; ++op) {
      const std::string value = "%v" + std::to_string(op);
      text += "  " + value + " = " + kOps[below(std::size(kOps))] + " " + last + ", " + kOperands[below(5)] + "\n";
      last = value;
      if (below(3) == 0) results += ", " + value;
    }
    if (below(2)) text += "  %t = tanh " + last + "\n", last = "%t";
    text += "  ret " + last + results + "\n}\n";
    found += run(text, "f", below(3) ? DType::F32 : DType::F64, {{m, inner}, {inner, n}, {n}, {m, 1}, {m, n}});
  }
  if (NestCompiler::is_available()) {
    EXPECT_GT(found, 20u);
  }
}

}  // namespace
}  // namespace tfvm
