// {memory=BYTES} on loops: within the budget, with the same bits, and with few further evaluations of the body.
#include <gtest/gtest.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @scanned(%x: f64[128], %w: f64) {
  %c = for (%c = %x;) {length=100000, memory=1048576} {
    %a = mul %c, %w
    %s = sin %a
    yield %s;
  }
  %r = reduce_sum %c
  ret %r
}
func @scanned_plain(%x: f64[128], %w: f64) {
  %c = for (%c = %x;) {length=100000} {
    %a = mul %c, %w
    %s = sin %a
    yield %s;
  }
  %r = reduce_sum %c
  ret %r
}
func @counted(%x: f64[128], %w: f64) {
  %i, %c = while (%i = 0, %c = %x) {memory=1048576} {
    %k = lt %i, 100000
    yield %k
  } do {
    %a = mul %c, %w
    %s = sin %a
    %j = add %i, 1
    yield %j, %s
  }
  %r = reduce_sum %c
  ret %r
}
func @tight(%x: f64[4], %w: f64, %ys: f64[1003]) {
  %c, %zs = scan (%c = %x; %y = %ys) {memory=1024, reverse=true} {
    %a = mul %c, %w
    %b = add %a, %y
    %s = sin %b
    %z = reduce_sum %s
    yield %s; %z
  }
  %p = mul %zs, %ys
  %q = reduce_sum %p
  %t = reduce_sum %c
  %r = add %q, %t
  ret %r
}
func @tight_plain(%x: f64[4], %w: f64, %ys: f64[1003]) {
  %c, %zs = scan (%c = %x; %y = %ys) {reverse=true} {
    %a = mul %c, %w
    %b = add %a, %y
    %s = sin %b
    %z = reduce_sum %s
    yield %s; %z
  }
  %p = mul %zs, %ys
  %q = reduce_sum %p
  %t = reduce_sum %c
  %r = add %q, %t
  ret %r
}
)";

struct Outcome {
  std::vector<Tensor> results;
  std::int64_t peak = 0;
};

Tensor ramp(VM& vm, std::vector<std::int64_t> dims, double scale) {
  Tensor t = *Tensor::make(vm.budget(), DType::F64, dims);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.as<double>()[i] = scale * static_cast<double>(i + 1);
  return t;
}

// `steps`: a limit of loop trips and calls.
Outcome run(std::string_view callee, std::vector<std::vector<std::int64_t>> dims, std::int64_t steps) {
  Outcome out;
  auto made = VM::create();
  EXPECT_TRUE(made);
  VM& vm = **made;
  EXPECT_TRUE(vm.load_text(kProgram, "loops.tfa"));
  std::vector<Tensor> in;
  std::vector<TypeId> types;
  double scale = 0.01;
  for (const auto& d : dims) {
    in.push_back(d.empty() ? ramp(vm, d, 1.2) : ramp(vm, d, scale));
    types.push_back(vm.type_of(in.back()));
    scale /= 8;
  }
  const auto f = vm.entry(callee, types);
  EXPECT_TRUE(f) << (f ? "" : f.error().message);
  if (!f) return out;
  const std::int64_t before = vm.budget()->used();
  Context context(vm.budget());
  context.limits.steps = steps;
  auto r = vm.call(context, *f, in);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  if (r) out.results = *r;
  out.peak = vm.budget()->peak() - before;
  return out;
}

void expect_same(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.results.size(), b.results.size());
  for (std::size_t k = 0; k < a.results.size(); ++k) EXPECT_TRUE(same_bits(a.results[k], b.results[k])) << k;
}

// One forward evaluation and one backward of each step make 2; a limit of 3.1 allows 2.1 forward evaluations.
TEST(LoopMemory, AScanOfManySteps) {
  const Outcome plain = run("grad(@scanned_plain, argnums=[0,1])", {{128}, {}}, 210'000);
  const Outcome bounded = run("grad(@scanned, argnums=[0,1])", {{128}, {}}, 310'000);
  expect_same(plain, bounded);
  EXPECT_GT(plain.peak, 100'000 * 1024);
  EXPECT_LE(bounded.peak, 1.05 * 1048576);
}

TEST(LoopMemory, AWhileOfManyTrips) {
  const Outcome plain = run("grad(@scanned_plain, argnums=[0,1])", {{128}, {}}, 210'000);
  const Outcome bounded = run("grad(@counted, argnums=[0,1])", {{128}, {}}, 620'000);  // conditions are trips too
  expect_same(plain, bounded);
  EXPECT_LE(bounded.peak, 1.05 * 1048576);
}

// 1003 steps of 32 bytes in 1024 take more than two levels; the inputs and outputs of the scan come on top.
TEST(LoopMemory, MoreLevelsWhereTheBudgetIsTight) {
  const std::vector<std::vector<std::int64_t>> dims = {{4}, {}, {1003}};
  const Outcome plain = run("grad(@tight_plain, argnums=[0,1,2])", dims, 1'000'000);
  const Outcome bounded = run("grad(@tight, argnums=[0,1,2])", dims, 1'000'000);
  expect_same(plain, bounded);
  EXPECT_LT(bounded.peak, plain.peak);
}

}  // namespace
}  // namespace tfvm
