// What a derivative of an implicit function costs beyond the function does not depend on the solver's steps.
#include <gtest/gtest.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @square_less(%a: f64, %y: f64) {
  %s = mul %y, %y
  %r = sub %s, %a
  ret %r
}
func @root(%a: f64, %steps: i64) {custom_root=@square_less} {
  %y, %n = while (%y = %a, %n = 0) {
    %more = lt %n, %steps
    yield %more
  } do {
    %q = div %a, %y
    %s = add %y, %q
    %next = mul %s, 0.5
    %m = add %n, 1
    yield %next, %m
  }
  ret %y
}
func @solve(%a: f64, %steps: i64, %b: f64) {custom_linear_solve=@product, symmetric=true} {
  %x, %n = while (%x = %b, %n = 0) {
    %more = lt %n, %steps
    yield %more
  } do {
    %p = mul %a, %x
    %r = sub %b, %p
    %next = add %x, %r
    %m = add %n, 1
    yield %next, %m
  }
  ret %x
}
func @product(%a: f64, %steps: i64, %x: f64) {
  %b = mul %a, %x
  ret %b
}
)";

// The least limit of trips and calls that the call keeps within.
std::int64_t steps(VM& vm, std::string_view callee, std::span<const Tensor> in) {
  std::vector<TypeId> types;
  for (const Tensor& t : in) types.push_back(vm.type_of(t));
  const auto f = vm.entry(callee, types);
  EXPECT_TRUE(f) << (f ? "" : f.error().message);
  std::int64_t low = 0, high = 1 << 20;
  while (f && low + 1 < high) {
    const std::int64_t middle = (low + high) / 2;
    Context context(vm.budget());
    context.limits.steps = middle;
    (vm.call(context, *f, in) ? high : low) = middle;
  }
  return high;
}

template <class T>
Tensor scalar(VM& vm, DType dtype, T value) {
  Tensor t = *Tensor::make(vm.budget(), dtype, {});
  t.as<T>()[0] = value;
  return t;
}

std::unique_ptr<VM> loaded() {
  auto made = VM::create();
  EXPECT_TRUE(made);
  const Status s = (*made)->load_text(kProgram, "implicit.tfa");
  EXPECT_TRUE(s) << (s ? "" : s.error().message);
  return std::move(*made);
}

// What `derived` takes beyond the function itself, for few and for many steps of the solver.
void expect_same_cost(VM& vm, std::string_view function, const std::string& derived, std::span<const Tensor> few,
                      std::span<const Tensor> many, std::int64_t runs = 1) {
  const std::int64_t a = steps(vm, function, few), b = steps(vm, function, many);
  EXPECT_GT(b, a + 900) << "the solver does its steps";
  EXPECT_EQ(steps(vm, derived, few) - runs * a, steps(vm, derived, many) - runs * b) << derived;
}

TEST(Implicit, DerivativeOfARootCostsTheSameForAllSteps) {
  const auto vm = loaded();
  const Tensor few[] = {scalar(*vm, DType::F64, 2.0), scalar(*vm, DType::I64, std::int64_t{5})};
  const Tensor many[] = {few[0], scalar(*vm, DType::I64, std::int64_t{1005})};
  for (const char* nest :
       {"grad(@root)", "jacfwd(@root)", "grad(grad(@root))", "jacfwd(grad(@root))", "hessian(@root)"})
    expect_same_cost(*vm, "@root", nest, few, many);
}

TEST(Implicit, DerivativeOfALinearSystemRunsTheSolverOncePerSystem) {
  const auto vm = loaded();
  const Tensor few[] = {scalar(*vm, DType::F64, 0.5), scalar(*vm, DType::I64, std::int64_t{5}),
                        scalar(*vm, DType::F64, 1.0)};
  const Tensor many[] = {few[0], scalar(*vm, DType::I64, std::int64_t{1005}), few[2]};
  for (const char* nest : {"grad(@solve)", "jacfwd(@solve)", "grad(@solve, argnums=[0, 2])"})
    expect_same_cost(*vm, "@solve", nest, few, many, 2);
}

}  // namespace
}  // namespace tfvm
