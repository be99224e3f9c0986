// Pads and takes within nests, and values that are known when a plan is made: one step where there were many, and the
// bits of the block interpreter.
#include "vm/plan/pick.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

#include <gtest/gtest.h>

#include "tests/vm/made.h"
#include "vm/plan/plan.h"
#include "vm/plan/planner.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @sides(%x: f32[n]) {
  %l = pad %x, 0 {low=[1], high=[0]}
  %r = pad %x, 0 {low=[0], high=[1]}
  %y = add %l, %r
  ret %y
}
func @filled(%x: f64[40,n], %v: f64) {
  %a = pad %x, 7 {low=[2,-1], high=[-1,3]}
  %b = pad %x, %v {low=[0,1], high=[1,1]}
  %c = pad %x, -0.0 {low=[0,5], high=[1,-3]}
  %bc = add %b, %c
  ret %a, %bc
}
func @far(%x: f32[n]) {
  %a = pad %x, 0 {low=[4294967296], high=[-4294967290]}
  %b = pad %x, 0 {low=[-4294967290], high=[4294967296]}
  %y = add %a, %b
  ret %y
}
func @farthest(%x: f32[n]) {
  %y = pad %x, 2 {low=[4611686018427387904], high=[-4611686018427387900]}
  ret %y
}
func @sum(%x: f32[n,33]) {
  %p = pad %x, 1 {low=[1,1], high=[1,1]}
  %m = reduce_max %p {axes=[1]}
  %s = reduce_sum %p {axes=[0]}
  ret %m, %s
}
func @concats(%x: f32[5,n], %y: f32[3,n], %z: f64[n], %k: f32[5,2]) {
  %a = concat %x, %y, %x
  %b = concat %z, %z {axis=0}
  %c = concat %k, %x, %k {axis=1}
  %a2 = mul %a, 3
  %b2 = neg %b
  %c2 = add %c, %c
  ret %a2, %b2, %c2
}
func @takes(%x: f32[20,n], %y: f64[n], %k: i64[5,n]) {
  %a = take %x, [3, -1, 0, 0, 19, 7, 2, 2, -20] {axis=1}
  %b = take %y, [[1, 2], [-1, 0]]
  %c = take %y, [90, -3, 1] {mode="clip"}
  %d = take %k, [2, 1] {axis=1}
  %a2 = mul %a, %a
  ret %a2, %b, %c, %d
}
func @computed(%x: f32[20,n], %k: i64[5,n], %i: i64[3,m], %j: i32[m]) {
  %a = take %x, %i {axis=1, mode="clip"}
  %c = take %x, %i {axis=1, mode="fill"}
  %d = take %k, %j {axis=1, mode="fill"}
  %t = transpose %x {perm=[1,0]}
  %e = take %t, %j {axis=1, mode="fill"}
  %c2 = add %a, %c
  ret %a, %c2, %d, %e
}
func @seeds(%x: f32[4,100]) {
  %i = iota {shape=[4,100], axis=0, dtype=i64}
  %j = iota {shape=[4,100], axis=1, dtype=i64}
  %r = rem %j, 4
  %e = eq %i, %r
  %s = cast %e {dtype=f32}
  %t = reverse %s {axes=[1]}
  %y = mul %x, %t
  ret %y
}
func @outside(%x: f32[n]) {
  %y = take %x, [1, 2, 5]
  ret %y
}
func @nothing(%x: f32[n]) {
  %y = take %x, [1, 2, 9] {mode="fill"}
  ret %y
}
)";

using test::Made;

Tensor counting(DType d, std::vector<std::int64_t> dims) {
  Tensor t = *Tensor::make({}, d, dims);
  for (std::int64_t k = 0; k < t.elements(); ++k) {
    if (d == DType::F32) t.as<float>()[k] = static_cast<float>(k) / 4 - 9;
    if (d == DType::F64) t.as<double>()[k] = static_cast<double>(k) / 4 - 9;
    if (d == DType::I64) t.as<std::int64_t>()[k] = k * 1000000007;
  }
  return t;
}

void expect_steps(std::string_view callee, const std::vector<Tensor>& in, std::size_t most, std::size_t kernels = 0) {
  Made blocks({.tier = Tier::Interp}, kProgram, callee, in);
  const std::vector<Tensor> expected = *blocks.call(in);
  for (Isa isa : {Isa::Avx2, Isa::Avx512}) {
    if (isa == Isa::Avx512 && NestCompiler::best_isa() != Isa::Avx512) continue;
    Made code({.tier = Tier::Jit, .isa = isa}, kProgram, callee, in);
    if (NestCompiler::is_available()) {
      PlanOptions options;
      options.tiers = &code.vm->tiers();
      options.fuse.per_nest = std::numeric_limits<std::int64_t>::max() / 16;  // uncut
      PlanCache uncut(options);
      const PlanRef plan = *uncut.get(code.vm->tables(), code.f.plan->function);
      EXPECT_LE(plan->steps.size(), most) << text(*plan);
      EXPECT_EQ(code.f.plan->kernels.size(), kernels) << text(*code.f.plan);
    }
    const std::vector<Tensor> got = *code.call(in);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      EXPECT_TRUE(same_bits(got[k], expected[k])) << callee << " result " << k;
    }
  }
}

TEST(Pick, Pads) {
  for (std::int64_t n : {17, 50, 3000}) expect_steps("sides", {counting(DType::F32, {n})}, 1);
  for (std::int64_t n : {20, 70}) expect_steps("filled", {counting(DType::F64, {40, n}), counting(DType::F64, {})}, 2);
  expect_steps("far", {counting(DType::F32, {3000})}, 1);
  expect_steps("farthest", {counting(DType::F32, {3000})}, 1, 1);
  for (std::int64_t n : {40, 300}) expect_steps("sum", {counting(DType::F32, {n, 33})}, 2);
}

TEST(Pick, Concats) {
  for (std::int64_t n : {10, 33, 200})
    expect_steps("concats",
                 {counting(DType::F32, {5, n}), counting(DType::F32, {3, n}), counting(DType::F64, {n}),
                  counting(DType::F32, {5, 2})},
                 3);
}

TEST(Pick, Takes) {
  for (std::int64_t n : {20, 100})
    expect_steps("takes", {counting(DType::F32, {20, n}), counting(DType::F64, {n}), counting(DType::I64, {5, n})}, 4);
}

TEST(Pick, TakesAtPlacesThatAnyoneMayGive) {
  for (std::int64_t m : {1, 7, 40}) {
    Tensor i = *Tensor::make({}, DType::I64, std::vector<std::int64_t>{3, m});
    Tensor j = *Tensor::make({}, DType::I32, std::vector<std::int64_t>{m});
    constexpr std::int64_t kPlaces[] = {
        0, -1, 29, 30, 5, INT64_MAX, INT64_MIN, std::int64_t{1} << 32, -(std::int64_t{1} << 32) + 3};
    for (std::int64_t k = 0; k < 3 * m; ++k) i.as<std::int64_t>()[k] = kPlaces[k % std::ssize(kPlaces)];
    constexpr std::int32_t kNarrow[] = {0, -1, 29, 30, 5, INT32_MAX, INT32_MIN};
    for (std::int64_t k = 0; k < m; ++k) j.as<std::int32_t>()[k] = kNarrow[k % std::ssize(kNarrow)];
    expect_steps("computed", {counting(DType::F32, {20, 30}), counting(DType::I64, {5, 30}), i, j}, 4);
  }
}

TEST(Pick, WhatIsKnownIsNoStep) { expect_steps("seeds", {counting(DType::F32, {4, 100})}, 1); }

// What may fail, or read nothing, is left to the kernel.
TEST(Pick, PlacesOutside) {
  const std::vector<Tensor> in{counting(DType::F32, {5})};
  Made code({.tier = Tier::Jit}, kProgram, "outside", in), fill({.tier = Tier::Jit}, kProgram, "nothing", in);
  const auto got = code.call(in);
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find('5'), std::string::npos) << got.error().message;
  const std::vector<Tensor> filled = *fill.call(in);
  EXPECT_EQ(filled[0].as<float>()[0], -8.75f);
  EXPECT_NE(filled[0].as<float>()[2], filled[0].as<float>()[2]);
}

}  // namespace
}  // namespace tfvm
