// Random programs: forward mode against difference quotients, reverse against forward mode, vmap against a loop, and
// nests of these. TFVM_RANDOM_PROGRAMS sets how many programs each test makes (default 150).
#include <cstdlib>

#include "tests/random/check.h"
#include "tests/random/make_program.h"
#include "transforms/compositions.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {
namespace {

int programs() {
  const char* n = std::getenv("TFVM_RANDOM_PROGRAMS");
  return n ? std::atoi(n) : 150;
}

// One VM per program: a failing seed can be run alone.
template <class Check>
void for_programs(ProgramOptions options, Check check) {
  for (int seed = 1; seed <= programs() && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bench bench;
    ASSERT_TRUE(bench.vm);
    ProgramMaker maker(bench.t(), bench.env().options, static_cast<std::uint64_t>(seed), options);
    const std::vector<TypeId> params = maker.float_types(1 + static_cast<std::size_t>(seed % 3)),
                              results = maker.float_types(1 + static_cast<std::size_t>(seed % 2));
    const FunctionId f = maker.make(params, results);
    ASSERT_TRUE(f);
    check(bench, f, maker.rng());
  }
}

TEST(RandomPrograms, ForwardModeIsTheDifferenceQuotient) {
  for_programs({.while_loops = true},
               [](Bench& b, FunctionId f, std::mt19937_64& rng) { EXPECT_LT(jvp_against_quotient(b, f, rng), 2e-5); });
}

TEST(RandomPrograms, ReverseModeIsTheTransposeOfForwardMode) {
  for_programs({.while_loops = true, .kinks = true},
               [](Bench& b, FunctionId f, std::mt19937_64& rng) { EXPECT_LT(vjp_against_jvp(b, f, rng), 1e-12); });
}

TEST(RandomPrograms, VmapIsALoop) {
  for_programs({.while_loops = true, .kinks = true}, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    EXPECT_LT(vmap_against_loop(b, f, 3, rng), 1e-12);
    EXPECT_LT(vmap_against_loop(b, f, 0, rng), 1e-12);
  });
}

TEST(RandomPrograms, VmapOfVmapIsALoopOfLoops) {
  for_programs({.instrs = 8, .while_loops = true, .kinks = true}, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    VmapParams p{
        .in_dims = std::vector<std::optional<std::int64_t>>(b.body(f).num_params, 0), .out_dims = {0}, .axis_size = 2};
    std::vector<TypeId> wide;
    for (TypeId type : b.body(f).param_types()) {
      std::vector<std::int64_t> dims(b.t().types.dims(type).begin(), b.t().types.dims(type).end());
      dims.insert(dims.begin(), 2);
      wide.push_back(b.t().types.tensor(DType::F64, dims));
    }
    const Result<FunctionId> g = vmap(b.env(), f, wide, p);
    ASSERT_TRUE(g) << g.error().message;
    EXPECT_LT(vmap_against_loop(b, *g, 3, rng), 1e-12);
  });
}

TEST(RandomPrograms, VmapOfDerivativesIsALoop) {
  for_programs({.instrs = 8, .while_loops = true, .kinks = true}, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    const Result<FunctionId> forward = jvp_transform(b.env(), f, false), reverse = vjp_transform(b.env(), f, false);
    ASSERT_TRUE(forward && reverse);
    EXPECT_LT(vmap_against_loop(b, *forward, 3, rng), 1e-12);
    EXPECT_LT(vmap_against_loop(b, *reverse, 3, rng), 1e-12);
  });
}

TEST(RandomPrograms, DerivativesOfDerivatives) {
  for_programs({.instrs = 6, .depth = 1, .while_loops = true}, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    const Result<FunctionId> forward = jvp_transform(b.env(), f, false), reverse = vjp_transform(b.env(), f, false);
    ASSERT_TRUE(forward && reverse) << (forward ? reverse.error().message : forward.error().message);
    EXPECT_LT(jvp_against_quotient(b, *forward, rng), 2e-5);
    EXPECT_LT(jvp_against_quotient(b, *reverse, rng), 2e-5);
    EXPECT_LT(vjp_against_jvp(b, *forward, rng), 1e-12);
    EXPECT_LT(vjp_against_jvp(b, *reverse, rng), 1e-12);
  });
}

TEST(RandomPrograms, DerivativesOfBatches) {
  for_programs({.instrs = 8, .depth = 1, .while_loops = true}, [](Bench& b, FunctionId f, std::mt19937_64& rng) {
    VmapParams p{.in_dims = {}, .out_dims = {0}, .axis_size = 3};
    std::vector<TypeId> wide;
    for (TypeId type : b.body(f).param_types()) {
      const bool batched = rng() % 3 != 0;
      std::vector<std::int64_t> dims(b.t().types.dims(type).begin(), b.t().types.dims(type).end());
      if (batched) dims.insert(dims.begin(), 3);
      p.in_dims.push_back(batched ? std::optional<std::int64_t>(0) : std::nullopt);
      wide.push_back(b.t().types.tensor(DType::F64, dims));
    }
    const Result<FunctionId> g = vmap(b.env(), f, wide, p);
    ASSERT_TRUE(g) << g.error().message;
    EXPECT_LT(jvp_against_quotient(b, *g, rng), 2e-5);
    EXPECT_LT(vjp_against_jvp(b, *g, rng), 1e-12);
  });
}

}  // namespace
}  // namespace tfvm::testing
