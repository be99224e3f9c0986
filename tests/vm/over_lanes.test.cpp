// Small products over lanes: nests instead of steps, with the bits of plans without fusion, in machine code and
// without.
#include "vm/plan/over_lanes.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/vm/made.h"
#include "vm/plan/planner.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @batch(%a: f32[n,4,4], %b: f32[n,4,3]) {
  %c = matmul %a, %b
  ret %c
}
func @batches(%a: f64[n,2,3,4], %b: f64[n,2,4,2]) {
  %c = matmul %a, %b
  ret %c
}
func @points(%p: f32[n,4], %m: f32[4,4]) {
  %t = transpose %m
  %c = matmul %p, %t
  %d = sub %c, %p
  ret %d
}
func @columns(%m: f32[3,3], %p: f32[3,n]) {
  %c = matmul %m, %p
  ret %c
}
func @one(%m: f32[4,4], %p: f32[4]) {
  %r = matmul %m, %p
  %s = matmul %r, %m
  %d = reduce_sum %s
  %e = div %s, %d
  %f = concat %e, %r
  ret %f
}
func @all_lanes = vmap(@one)
func @few_lanes = vmap(@one, in_dims=[none, 0])
func @other_lanes = vmap(@one, in_dims=[2, 1])
func @twice = vmap(@few_lanes, in_dims=[0, 1])
func @gradient = vmap(grad(@loss))
func @loss(%m: f32[4,4], %p: f32[4]) {
  %r = matmul %m, %p
  %q = tanh %r
  %s = matmul %m, %q
  %t = mul %s, %s
  %l = reduce_sum %t
  ret %l
}
// What is not over lanes stands between two products, once waiting for the first, once not.
func @between(%a: f32[n,4,4], %b: f32[n,4,4]) {
  %c = matmul %a, %b
  %m = reduce_max %c
  %k = cumsum %a
  %d = sub %c, %m
  %e = matmul %d, %k
  %f = matmul %c, %b
  %g = add %e, %f
  ret %g, %c, %m
}
// Longer than the lanes' dims is what makes a product one for gemm.h.
func @large(%a: f32[n,17], %b: f32[17,4]) {
  %c = matmul %a, %b
  ret %c
}
func @long(%a: f32[n,2,20], %b: f32[n,20,3]) {
  %c = matmul %a, %b
  ret %c
}
// Whole tiles of gemm.h.
func @squares(%a: f32[n,m,m], %b: f32[n,m,m]) {
  %c = matmul %a, %b
  ret %c
}
func @wide(%a: f32[n,4], %b: f32[4,16]) {
  %c = matmul %a, %b
  ret %c
}
)";

std::size_t products(const Plan& plan) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.kernels, [](const KernelStep& k) { return k.op == Op::dot_general; }));
}

template <class T>
Tensor some(std::vector<std::int64_t> dims, DType d) {
  std::mt19937 rng(static_cast<unsigned>(dims.size()));
  Tensor x = *Tensor::make({}, d, dims);
  for (std::int64_t k = 0; k < x.elements(); ++k)
    x.as<T>()[k] = k == 5 ? std::numeric_limits<T>::infinity() : std::uniform_real_distribution<T>(-2, 2)(rng);
  return x;
}

// `left`: products that are steps.
template <class T>
void check(std::string_view callee, std::vector<std::vector<std::int64_t>> shapes, std::size_t left) {
  SCOPED_TRACE(callee);
  std::vector<Tensor> in;
  for (const auto& dims : shapes) in.push_back(some<T>(dims, sizeof(T) == 4 ? DType::F32 : DType::F64));
  for (const Tier which : {Tier::Jit, Tier::Auto}) {
    TierOptions tier;
    tier.tier = which;  // auto: the first call is interpreted
    test::Made made(tier, kProgram, callee, in);
    if (NestCompiler::is_available()) {
      EXPECT_EQ(products(*made.f.plan), left);
    }
    PlanOptions apart;
    apart.fuse.enabled = false;
    PlanCache plain(apart);
    const PlanRef expected = *plain.get(made.vm->tables(), made.f.plan->function);
    const std::vector<Tensor> e = *made.context.call(*expected, in), got = *made.call(in);
    ASSERT_EQ(got.size(), e.size());
    for (std::size_t k = 0; k < e.size(); ++k)
      EXPECT_EQ(std::memcmp(got[k].data(), e[k].data(), static_cast<std::size_t>(e[k].bytes())), 0) << k;
  }
}

TEST(OverLanes, ProductsAreNests) {
  for (const std::int64_t n : {8, 17, 100}) {
    check<float>("batch", {{n, 4, 4}, {n, 4, 3}}, 0);
    check<double>("batches", {{n, 2, 3, 4}, {n, 2, 4, 2}}, 0);
    check<float>("points", {{n, 4}, {4, 4}}, 0);
    check<float>("columns", {{3, 3}, {3, n}}, 0);
    check<float>("all_lanes", {{n, 4, 4}, {n, 4}}, 0);
    check<float>("few_lanes", {{4, 4}, {n, 4}}, 0);
    check<float>("other_lanes", {{4, 4, n}, {4, n}}, 0);
    check<float>("twice", {{5, 4, 4}, {n, 5, 4}}, 0);
    check<float>("gradient", {{n, 4, 4}, {n, 4}}, 0);
    check<float>("squares", {{n, 10, 10}, {n, 10, 10}}, 0);
    check<float>("between", {{n, 4, 4}, {n, 4, 4}}, 0);
  }
}

TEST(OverLanes, OthersAreSteps) {
  check<float>("long", {{9, 2, 20}, {9, 20, 3}}, 1);
  check<float>("large", {{50, 17}, {17, 4}}, 1);
  check<float>("squares", {{20, 12, 12}, {20, 12, 12}}, 1);
  check<float>("wide", {{50, 4}, {4, 16}}, 1);
  check<float>("batch", {{0, 4, 4}, {0, 4, 3}}, 1);
}

}  // namespace
}  // namespace tfvm
