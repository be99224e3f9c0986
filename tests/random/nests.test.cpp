// Random nests of transforms, up to three deep, over random programs, at least three in ten of them with loops. The
// outermost transform is compared with what it means: jvp with difference quotients, vjp with jvp, vmap with a loop.
// TFVM_RANDOM_PROGRAMS says how many (default 300), TFVM_RANDOM_FIRST the first seed.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tests/random/check.h"
#include "tests/random/make_program.h"
#include "transforms/compositions.h"
#include "transforms/packs.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {
namespace {

enum class Kind { Jvp, Vjp, Vmap };
constexpr std::string_view kNames[] = {"jvp", "vjp", "vmap"};

std::optional<FunctionId> apply_vmap(Bench& b, FunctionId f, std::mt19937_64& rng) {
  const RandomVmap v = random_vmap(b, f, 1 + static_cast<std::int64_t>(rng() % 3), rng);
  const Result<FunctionId> g = vmap(b.env(), f, v.wide, v.params);
  EXPECT_TRUE(g) << (g ? "" : g.error().message);
  return g ? std::optional(*g) : std::nullopt;
}

// jvp by linearize and lin.
Result<FunctionId> jvp_by_pack(Bench& b, FunctionId f) {
  const Result<FunctionId> first = linearize_transform(b.env(), f);
  if (!first) return first;
  const Body& body = b.body(*first);
  const Result<FunctionId> second = lin_transform(b.env(), body.type(body.results.back()));
  if (!second) return second;
  Builder r(b.t(), b.env().options, "jvp_by_pack");
  std::vector<ValueId> x, dx;
  for (TypeId type : body.param_types()) x.push_back(r.param(type));
  for (TypeId type : b.body(*second).param_types().subspan(1)) dx.push_back(r.param(type));
  std::vector<ValueId> out = r.emit_all(Op::call, x, b.t().attrs.dict({{Key::callee, *first}}));
  if (r.failed()) return r.error();
  dx.insert(dx.begin(), out.back());
  out.pop_back();
  for (ValueId v : r.emit_all(Op::call, dx, b.t().attrs.dict({{Key::callee, *second}}))) out.push_back(v);
  return r.seal(out);
}

std::optional<FunctionId> apply(Bench& b, Kind kind, FunctionId f, std::mt19937_64& rng) {
  if (kind == Kind::Vmap) return apply_vmap(b, f, rng);
  const Result<FunctionId> g = kind == Kind::Vjp ? vjp_transform(b.env(), f, false)
                               : rng() % 3 == 0  ? jvp_by_pack(b, f)
                                                 : jvp_transform(b.env(), f, false);
  EXPECT_TRUE(g) << (g ? "" : g.error().message);
  return g ? std::optional(*g) : std::nullopt;
}

double compare(Bench& b, Kind kind, FunctionId f, std::mt19937_64& rng) {
  switch (kind) {
    case Kind::Jvp:
      return jvp_against_quotient(b, f, rng) / 2e-5;
    case Kind::Vjp:
      return vjp_against_jvp(b, f, rng) / 1e-11;
    case Kind::Vmap:
      return vmap_against_loop(b, f, 2, rng) / 1e-11;
  }
  return 0;
}

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

// What the programs of a run had in them.
struct Tally {
  int programs = 0, loops = 0, whiles = 0, nested = 0, nested_whiles = 0;

  void add(const LoopCount& c) {
    ++programs;
    loops += c.depth > 0, whiles += c.while_depth > 0;
    nested += c.depth > 1, nested_whiles += c.while_depth > 1;
  }
};

struct RandomNests : ::testing::Test {
  Tally tally;

  // `first` (none: any) is the innermost transform but for vmap.
  void check(int seed, ProgramOptions options, bool own_rules, std::optional<Kind> first) {
    Bench b;
    ASSERT_TRUE(b.vm);
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed) * 7919);
    if (own_rules) options.own_rules = &b.env();
    ProgramMaker maker(b.t(), b.env().options, static_cast<std::uint64_t>(seed), options);
    FunctionId f = maker.make(maker.mixed_types(1 + rng() % 2), maker.mixed_types(1 + rng() % 2));
    ASSERT_TRUE(f);
    tally.add(count_loops(b.t(), f));
    std::string nest = "program " + std::to_string(seed);
    const int depth = (first ? 2 : 1) + static_cast<int>(rng() % (first ? 2 : 3));
    for (int k = 1; k < depth; ++k) {
      auto kind = static_cast<Kind>(rng() % 3);
      if (first && (kind != Kind::Vmap || k + 1 == depth)) kind = *std::exchange(first, std::nullopt);
      nest += std::string(", then ") + std::string(kNames[static_cast<int>(kind)]);
      SCOPED_TRACE(nest);
      const auto g = apply(b, kind, f, rng);
      ASSERT_TRUE(g);
      f = *g;
    }
    const auto outermost = static_cast<Kind>(rng() % 3);
    SCOPED_TRACE(nest + ", compared: " + std::string(kNames[static_cast<int>(outermost)]));
    EXPECT_LT(compare(b, outermost, f, rng), 1);
  }
};

TEST_F(RandomNests, MeanWhatTheySay) {
  const int programs = from_environment("TFVM_RANDOM_PROGRAMS", 300), from = from_environment("TFVM_RANDOM_FIRST", 1);
  for (int seed = from; seed < from + programs && !HasFailure(); ++seed)
    check(seed, {.instrs = 6, .depth = 2, .while_loops = true}, false, std::nullopt);
  std::printf("%d programs: %d with loops, %d with while, %d with nested loops, %d with nested while\n", tally.programs,
              tally.loops, tally.whiles, tally.nested, tally.nested_whiles);
  if (programs < 100) return;
  EXPECT_GE(tally.loops * 10, tally.programs * 3);
  EXPECT_GE(tally.whiles * 10, tally.programs);
  EXPECT_GE(tally.nested_whiles * 100, tally.programs);
}

TEST_F(RandomNests, OverOwnRules) {
  const int programs = from_environment("TFVM_RANDOM_PROGRAMS", 150), from = from_environment("TFVM_RANDOM_FIRST", 1);
  for (int seed = from; seed < from + programs && !HasFailure(); ++seed)
    check(seed, {.instrs = 6, .depth = 2, .while_loops = true}, true, std::nullopt);
}

// Reverse mode comes first; then all others go through @fwd and @bwd.
TEST_F(RandomNests, OverOwnReverseModes) {
  const int programs = from_environment("TFVM_RANDOM_PROGRAMS", 150), from = from_environment("TFVM_RANDOM_FIRST", 1);
  for (int seed = from; seed < from + programs && !HasFailure(); ++seed)
    check(seed, {.instrs = 6, .depth = 2, .while_loops = true, .custom_vjp = true}, true, Kind::Vjp);
}

}  // namespace
}  // namespace tfvm::testing
