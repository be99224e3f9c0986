// Random programs with control flow, run: the ways to a Jacobian and to a second derivative against each other.
// (tests/random compares first derivatives with finite differences.)
#include <cmath>

#include <gtest/gtest.h>

#include "tests/random/make_program.h"
#include "transforms/compositions.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

using Tensors = std::vector<Tensor>;

struct Machine {
  std::unique_ptr<VM> vm = std::move(*VM::create());
  Context context;
  std::mt19937_64 rng;

  explicit Machine(std::uint64_t seed) : rng(seed) {}
  Tables& t() { return vm->tables(); }

  Tensors run(FunctionId f, const Tensors& inputs) {
    Result<PlanRef> plan = vm->plans().get(t(), f);
    EXPECT_TRUE(plan) << plan.error().message;
    Result<Tensors> out = context.call(**plan, inputs);
    EXPECT_TRUE(out) << out.error().message;
    return out ? *out : Tensors{};
  }

  Tensor tensor(TypeId type, const std::function<double()>& value) {
    Tensor x = *Tensor::make({}, DType::F64, t().types.dims(type));
    for (std::int64_t k = 0; k < x.elements(); ++k) x.as<double>()[k] = value();
    return x;
  }
  Tensors random(std::span<const TypeId> types) {
    std::uniform_real_distribution<double> u(-1, 1);
    Tensors out;
    for (TypeId type : types) out.push_back(tensor(type, [&] { return u(rng); }));
    return out;
  }
  Tensors zeros(std::span<const TypeId> types) {
    Tensors out;
    for (TypeId type : types) out.push_back(tensor(type, [] { return 0.0; }));
    return out;
  }
};

Tensors operator+(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensors part(const Tensors& a, std::size_t from, std::size_t n) {
  const auto at = a.begin() + static_cast<std::ptrdiff_t>(from);
  return {at, at + static_cast<std::ptrdiff_t>(n)};
}

double inner(const Tensors& a, const Tensors& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::int64_t i = 0; i < a[k].elements(); ++i) sum += a[k].as<double>()[i] * b[k].as<double>()[i];
  return sum;
}

bool close(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * (1 + std::abs(a) + std::abs(b)) || (std::isnan(a) && std::isnan(b));
}

void expect_close(const Tensors& a, const Tensors& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::int64_t i = 0; i < a[k].elements(); ++i)
      ASSERT_PRED3(close, a[k].as<double>()[i], b[k].as<double>()[i], tolerance);
}

FunctionId made(const Result<FunctionId>& f) {
  EXPECT_TRUE(f) << f.error().message;
  return f ? *f : FunctionId{};
}

struct Random : ::testing::TestWithParam<std::uint64_t> {
  static constexpr std::size_t kInputs = 2, kOutputs = 2;
  Machine m{GetParam()};
  TransformEnv& env = m.vm->transforms();
  std::vector<TypeId> in, out;

  FunctionId program(bool scalar = false) {
    testing::ProgramOptions options{.kinks = true};
    testing::ProgramMaker maker(m.t(), {}, GetParam(), options);
    in = maker.float_types(kInputs);
    out = scalar ? std::vector{m.t().types.scalar(DType::F64)} : maker.float_types(kOutputs);
    return maker.make(in, out);
  }
};

// d/dz of ct . J(x) dx, by jvp(vjp) and by vjp(jvp).
TEST_P(Random, SecondDerivativesAgreeInBothOrders) {
  const FunctionId f = program();
  const FunctionId j = made(jvp_transform(env, f, false)), r = made(vjp_transform(env, f, false));
  const FunctionId jr = made(jvp_transform(env, r, false)), rj = made(vjp_transform(env, j, false));
  const Tensors x = m.random(in), dx = m.random(in), z = m.random(in), ct = m.random(out), none = m.zeros(out);
  const Tensors a = m.run(jr, x + ct + z + none), b = m.run(rj, x + dx + none + ct);
  EXPECT_PRED3(close, inner(part(a, a.size() - kInputs, kInputs), dx), inner(part(b, 2 * kOutputs, kInputs), z), 1e-9);
}

TEST_P(Random, JacobiansAgree) {
  const FunctionId f = program();
  const Tensors x = m.random(in);
  expect_close(m.run(made(jacfwd_transform(env, f, {{0, 1}, false})), x),
               m.run(made(jacrev_transform(env, f, {{0, 1}, false})), x), 1e-10);
}

TEST_P(Random, HessianTimesVectorIsHvp) {
  const FunctionId f = program(true);
  const Tensors x = m.random(in), v = m.random(in);
  const Tensors h = m.run(made(hessian_transform(env, f, {{0, 1}, false})), x);
  const Tensors hv = m.run(made(hvp_transform(env, f, {{0, 1}, false})), x + v);
  for (std::size_t a = 0; a < kInputs; ++a)
    for (std::int64_t i = 0; i < x[a].elements(); ++i) {
      double sum = 0;
      for (std::size_t b = 0; b < kInputs; ++b)
        for (std::int64_t k = 0; k < v[b].elements(); ++k)
          sum += h[kInputs * a + b].as<double>()[i * v[b].elements() + k] * v[b].as<double>()[k];
      ASSERT_PRED3(close, sum, hv[1 + a].as<double>()[i], 1e-9);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range<std::uint64_t>(0, 40));

}  // namespace
}  // namespace tfvm
