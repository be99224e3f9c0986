// Small functions as one point: they have one step, and the bits of the block interpreter.
#include "vm/plan/whole.h"

#include <bit>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "jit/region/code.h"
#include "tests/vm/made.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @rosenbrock(%p: f32[n]) -> f32 {
  %next = slice %p {start=[1], limit=[n]}
  %here = slice %p {start=[0], limit=[(n - 1)]}
  %q = mul %here, %here
  %d = sub %next, %q
  %d2 = mul %d, %d
  %far = mul %d2, 100
  %e = sub 1, %here
  %e2 = mul %e, %e
  %sum = add %far, %e2
  %r = reduce_sum %sum
  ret %r
}
func @gradient = grad(@rosenbrock)
func @turned(%x: f64[2,3], %k: i32[3]) {
  %i = iota {shape=[3], axis=0, dtype=i32}
  %s = add %k, %i
  %f = cast %s {dtype=f64}
  %y = mul %x, %f
  %t = transpose %y {perm=[1,0]}
  %m = matmul %y, %t
  %l = lt %x, 0
  %p = pad %x, 7 {low=[0,-1], high=[1,1], interior=[0,1]}
  %c = concat %t, %t {axis=1}
  ret %m, %l, %p, %c, %x
}
func @halves(%x: f16[4]) {
  %s = reduce_sum %x
  ret %s
}
func @complex(%x: c64[2]) {
  %y = mul %x, %x
  ret %y
}
func @long(%x: f32[n]) {
  %y = mul %x, %x
  ret %y
}
)";

using test::Made;

Tensor random_tensor(std::mt19937& rng, DType d, std::vector<std::int64_t> dims) {
  Tensor t = *Tensor::make({}, d, dims);
  for (std::int64_t k = 0; k < t.elements(); ++k) {
    const double v = std::uniform_real_distribution<double>(-2, 2)(rng);
    switch (d) {
      case DType::F64:
        t.as<double>()[k] = v;
        break;
      case DType::I32:
        t.as<std::int32_t>()[k] = static_cast<std::int32_t>(v * 10);
        break;
      case DType::F16:
        t.as<std::uint16_t>()[k] = static_cast<std::uint16_t>(0x3c00 + k);
        break;
      default:
        for (int half = 0; half < size_of(d) / 4; ++half)
          t.as<float>()[k * (size_of(d) / 4) + half] = static_cast<float>(v);
    }
  }
  return t;
}

void expect_same(std::string_view callee, const std::vector<Tensor>& in, bool is_whole) {
  Made code({.tier = Tier::Jit}, kProgram, callee, in), blocks({.tier = Tier::Interp}, kProgram, callee, in);
  if (NestCompiler::is_available()) {
    EXPECT_EQ(
        code.f.plan->steps.size() == 1 && code.f.plan->nests.size() == 1 && code.f.plan->nests[0].code->extents.empty(),
        is_whole)
        << callee << "\n"
        << text(*code.f.plan);
  }
  const std::vector<Tensor> a = *code.call(in), b = *blocks.call(in);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(same_bits(a[k], b[k])) << callee << " result " << k;
}

TEST(Whole, HasTheBitsOfBlocks) {
  std::mt19937 rng(1);
  expect_same("gradient", {random_tensor(rng, DType::F32, {3})}, true);
  expect_same("gradient", {random_tensor(rng, DType::F32, {7})}, true);
  expect_same("turned", {random_tensor(rng, DType::F64, {2, 3}), random_tensor(rng, DType::I32, {3})}, true);
}

TEST(Whole, NotWhereVectorsAreFaster) {
  std::mt19937 rng(2);
  expect_same("long", {random_tensor(rng, DType::F32, {1000})}, false);
  expect_same("gradient", {random_tensor(rng, DType::F32, {5000})}, false);
}

// Their dtypes have no machine code.
TEST(Whole, NotOfHalvesAndComplex) {
  std::mt19937 rng(3);
  expect_same("halves", {random_tensor(rng, DType::F16, {4})}, false);
  expect_same("complex", {random_tensor(rng, DType::C64, {2})}, false);
}

TEST(Whole, NaNAndZeroOfStrongZero) {
  Tensor x = *Tensor::make({}, DType::F32, std::vector<std::int64_t>{3});
  for (float a : {0.0f, -0.0f, std::bit_cast<float>(0x7f800000u), std::bit_cast<float>(0x7fc00000u), 1e-40f}) {
    for (int k = 0; k < 3; ++k) x.as<float>()[k] = k == 1 ? a : 1.0f;
    Made code({.tier = Tier::Jit}, kProgram, "gradient", {x}),
        blocks({.tier = Tier::Interp}, kProgram, "gradient", {x});
    const Tensor p = (*code.call({x}))[0], q = (*blocks.call({x}))[0];
    for (int k = 0; k < 3; ++k) {
      const float u = p.as<float>()[k], v = q.as<float>()[k];
      EXPECT_TRUE((u != u && v != v) || std::bit_cast<std::uint32_t>(u) == std::bit_cast<std::uint32_t>(v)) << a;
    }
  }
}

}  // namespace
}  // namespace tfvm
