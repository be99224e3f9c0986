// Random programs of nested `while` loops, whose numbers of trips depend on the data: none, several, an early end, and
// under vmap as many as each lane wants. Reverse mode, through tapes, is the transpose of forward mode to 1e-12.
#include "tests/random/check.h"
#include "tests/random/make_program.h"
#include "transforms/compositions.h"

namespace tfvm::testing {
namespace {

constexpr int kPrograms = 200;

struct NestedWhile : ::testing::Test {
  // Each program has its own VM, and a loop within a loop at least.
  template <class Check>
  void each(int programs, Check check) {
    for (int seed = 1; seed <= programs && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Bench bench;
      ASSERT_TRUE(bench.vm);
      ProgramMaker maker(bench.t(), bench.env().options, static_cast<std::uint64_t>(seed),
                         {.instrs = 4, .depth = 2 + seed % 8 / 7, .while_loops = true, .nested_while = true});
      const FunctionId f = maker.make(maker.mixed_types(2), maker.mixed_types(1));
      ASSERT_TRUE(f);
      ASSERT_GE(count_loops(bench.t(), f).while_depth, 2);
      check(bench, f, maker.rng());
    }
  }
};

FunctionId batched(Bench& b, FunctionId f, std::int64_t size, std::mt19937_64& rng) {
  const RandomVmap v = random_vmap(b, f, size, rng);
  const Result<FunctionId> g = vmap(b.env(), f, v.wide, v.params);
  EXPECT_TRUE(g) << (g ? "" : g.error().message);
  return g ? *g : FunctionId{};
}

TEST_F(NestedWhile, ReverseModeIsTheTransposeOfForwardMode) {
  each(kPrograms, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    for (int point = 0; point < 3; ++point) EXPECT_LT(vjp_against_jvp(b, f, rng), 1e-12);
  });
}

TEST_F(NestedWhile, SoItIsWithDifferentTripsPerLane) {
  each(kPrograms, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    const FunctionId g = batched(b, f, 4, rng);
    ASSERT_TRUE(g);
    EXPECT_LT(vjp_against_jvp(b, g, rng), 1e-12);
    const Result<FunctionId> reverse = vjp_transform(b.env(), f, false);
    ASSERT_TRUE(reverse) << reverse.error().message;
    EXPECT_LT(vmap_against_loop(b, *reverse, 4, rng), 1e-12);
  });
}

TEST_F(NestedWhile, AndOfDerivatives) {
  each(kPrograms / 4, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    const Result<FunctionId> forward = jvp_transform(b.env(), f, false), reverse = vjp_transform(b.env(), f, false);
    ASSERT_TRUE(forward && reverse);
    EXPECT_LT(vjp_against_jvp(b, *forward, rng), 1e-12);
    EXPECT_LT(vjp_against_jvp(b, *reverse, rng), 1e-12);
  });
}

}  // namespace
}  // namespace tfvm::testing
