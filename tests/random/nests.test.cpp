// Random nests of transforms, up to three deep, over random programs, at least three in ten of them with loops. The
// outermost transform is compared with what it means: jvp with difference quotients, vjp with jvp, vmap with a loop.
#include <cstdlib>
#include <optional>

#include "tests/random/check.h"
#include "tests/random/make_program.h"
#include "transforms/compositions.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {
namespace {

enum class Kind { Jvp, Vjp, Vmap };
constexpr std::string_view kNames[] = {"jvp", "vjp", "vmap"};

// vmap over all arguments or some, batch dim 0.
std::optional<FunctionId> apply_vmap(Bench& b, FunctionId f, std::mt19937_64& rng) {
  VmapParams p{.in_dims = {}, .out_dims = {0}, .axis_size = 2};
  std::vector<TypeId> wide;
  for (TypeId type : b.body(f).param_types()) {
    const bool batched = rng() % 4 != 0;
    std::vector<std::int64_t> dims(b.t().types.dims(type).begin(), b.t().types.dims(type).end());
    if (batched) dims.insert(dims.begin(), 2);
    p.in_dims.push_back(batched ? std::optional<std::int64_t>(0) : std::nullopt);
    wide.push_back(b.t().types.tensor(b.t().types.dtype(type), dims));
  }
  const Result<FunctionId> g = vmap(b.env(), f, wide, p);
  EXPECT_TRUE(g) << (g ? "" : g.error().message);
  return g ? std::optional(*g) : std::nullopt;
}

std::optional<FunctionId> apply(Bench& b, Kind kind, FunctionId f, std::mt19937_64& rng) {
  if (kind == Kind::Vmap) return apply_vmap(b, f, rng);
  const Result<FunctionId> g = kind == Kind::Jvp ? jvp_transform(b.env(), f, false) : vjp_transform(b.env(), f, false);
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

bool has_loop(const Tables& t, FunctionId f) {
  const Body& body = t.bodies[f.body];
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    if (body.ops[i] == Op::scan || body.ops[i] == Op::while_) return true;
    if (info(body.ops[i]).kind != OpKind::Control) continue;
    for (AttrId item : t.attrs[body.attrs[i]].items) {
      if (t.attrs[item].kind == AttrKind::Func && has_loop(t, t.attrs[item].func)) return true;
      for (AttrId branch : t.attrs[item].items)
        if (t.attrs[branch].kind == AttrKind::Func && has_loop(t, t.attrs[branch].func)) return true;
    }
  }
  return false;
}

TEST(RandomNests, MeanWhatTheySay) {
  const char* count = std::getenv("TFVM_RANDOM_PROGRAMS");
  const int programs = count ? std::atoi(count) : 300;
  int loops = 0;
  for (int seed = 1; seed <= programs && !HasFailure(); ++seed) {
    Bench b;
    ASSERT_TRUE(b.vm);
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed) * 7919);
    ProgramMaker maker(b.t(), b.env().options, static_cast<std::uint64_t>(seed), {.instrs = 6, .depth = 2});
    FunctionId f = maker.make(maker.float_types(1 + rng() % 2), maker.float_types(1 + rng() % 2));
    ASSERT_TRUE(f);
    loops += has_loop(b.t(), f);
    std::string nest = "program " + std::to_string(seed);
    const int depth = 1 + static_cast<int>(rng() % 3);
    for (int k = 1; k < depth; ++k) {
      const auto kind = static_cast<Kind>(rng() % 3);
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
  if (programs >= 100) {
    EXPECT_GE(loops * 10, programs * 3);
  }
}

}  // namespace
}  // namespace tfvm::testing
