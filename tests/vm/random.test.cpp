// Random programs give the same bits however they are planned, and however much of them was folded when they were
// built.
#include <cmath>
#include <cstring>

#include "tests/random/make_program.h"
#include "tests/vm/machine.h"
#include "vm/evaluator.h"

namespace tfvm::testing {
namespace {

struct Case {
  FunctionId f;
  std::vector<TypeId> params;
};

// The same seed gives the same program in any tables, simplified or not.
Case make(Tables& t, BuilderOptions build, std::uint64_t seed) {
  ProgramMaker maker(t, build, seed, {.instrs = 14, .depth = 2, .control = true, .while_loops = true, .kinks = true});
  Case c;
  c.params = maker.float_types(2);
  const std::vector<TypeId> results = maker.float_types(2);
  c.f = maker.make(c.params, results);
  return c;
}

std::vector<Tensor> inputs(const Tables& t, const std::vector<TypeId>& types, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> real(-2, 2);
  std::vector<Tensor> out;
  for (TypeId type : types) {
    out.push_back(*Tensor::make({}, t.types.dtype(type), t.types.dims(type)));
    for (std::int64_t k = 0; k < out.back().elements(); ++k) out.back().as<double>()[k] = real(rng);
  }
  return out;
}

bool same(const Tensor& a, const Tensor& b) {
  if (same_bits(a, b)) return true;
  for (std::int64_t k = 0; k < a.elements(); ++k) {
    const double x = a.as<double>()[k], y = b.as<double>()[k];
    if (std::isnan(x) != std::isnan(y) || (!std::isnan(x) && std::memcmp(&x, &y, sizeof x) != 0)) return false;
  }
  return true;
}

void expect_equal_runs(Machine& a, FunctionId f, Machine& b, FunctionId g, const std::vector<Tensor>& in) {
  const PlanRef p = a.plan(f), q = b.plan(g);
  ASSERT_TRUE(p && q);
  const auto x = a.context.call(*p, in), y = b.context.call(*q, in);
  ASSERT_EQ(static_cast<bool>(x), static_cast<bool>(y));
  if (!x) return;
  for (std::size_t k = 0; k < x->size(); ++k)
    EXPECT_TRUE(same((*x)[k], (*y)[k])) << print((*x)[k]) << "\n" << print((*y)[k]);
}

TEST(Random, FusionAndInliningKeepBits) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Machine whole, plain({.fuse = {.enabled = false}, .inlining = {0, 0, 0}});
    const Case a = make(whole.t, {}, seed), b = make(plain.t, {}, seed);
    expect_equal_runs(whole, a.f, plain, b.f, inputs(whole.t, a.params, seed));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Random, FoldingGivesRunTimeBits) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const PlanEvaluator evaluator;
    Machine folded, plain;
    const Case a = make(folded.t, {&evaluator, true}, seed), b = make(plain.t, {nullptr, false}, seed);
    expect_equal_runs(folded, a.f, plain, b.f, inputs(folded.t, a.params, seed));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace tfvm::testing
