// Random programs and their transforms in machine code against the block interpreter, bit for bit, in memory that ends
// where the values do. TFVM_RANDOM_PROGRAMS says how many (default 200), TFVM_RANDOM_FIRST the first seed.
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/jit/x86/guarded.h"
#include "tests/random/check.h"
#include "tests/random/make_program.h"
#include "transforms/compositions.h"

namespace tfvm::testing {
namespace {

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

// One way to run programs.
struct Way {
  std::string name;
  Tiers tiers;
  PlanCache plans;
  Context context;

  Way(std::string way, TierOptions tier, bool fusion, bool straight)
      : name(std::move(way)), tiers(tier), plans(options(fusion, straight)) {}

  PlanOptions options(bool fusion, bool straight) {
    PlanOptions o;
    o.tiers = &tiers;
    o.fuse.enabled = fusion;
    o.straight = straight;
    if (tiers.options().tier == Tier::Interp) o.fuse.recompute = false;
    o.fuse.large = o.large_product = straight ? PlanOptions{}.large_product : 1;  // what is done with large values, too
    if (!straight) o.fuse.per_nest = 0;
    return o;
  }
};

using Memory = std::vector<std::unique_ptr<Guarded>>;

std::vector<std::byte*> pointers(const Memory& memory) {
  std::vector<std::byte*> p;
  for (const auto& m : memory) p.push_back(m->data());
  return p;
}

class RandomTiers : public ::testing::Test {
 protected:
  // Plans belong to the tables of a VM.
  void renew() {
    ways_.clear();
    bench_ = std::make_unique<Bench>();
    ways_.push_back(std::make_unique<Way>("blocks", TierOptions{.tier = Tier::Interp}, false, false));
    ways_.push_back(std::make_unique<Way>("code", TierOptions{.tier = Tier::Jit}, true, true));
    ways_.push_back(std::make_unique<Way>("avx2", TierOptions{.tier = Tier::Jit, .isa = Isa::Avx2}, true, false));
    for (const std::optional<Isa> isa : {std::optional<Isa>(), std::optional(Isa::Avx2)})
      ways_.push_back(std::make_unique<Way>(
          "few registers", TierOptions{.tier = Tier::Jit, .isa = isa, .few_registers = true}, true, true));
    ways_.push_back(std::make_unique<Way>("unfused", TierOptions{.tier = Tier::Jit}, false, false));
  }

  FunctionId transformed(FunctionId f, std::mt19937_64& rng) {
    Bench& b = *bench_;
    for (int k = static_cast<int>(rng() % 3); k > 0; --k) {
      Result<FunctionId> g = f;
      const RandomVmap v = random_vmap(b, f, 1 + static_cast<std::int64_t>(rng() % 40), rng);
      switch (rng() % 3) {
        case 0:
          g = vjp_transform(b.env(), f, false);
          break;
        case 1:
          g = jvp_transform(b.env(), f, false);
          break;
        default:
          g = vmap(b.env(), f, v.wide, v.params);
      }
      EXPECT_TRUE(g) << (g ? "" : g.error().message);
      if (g) f = *g;
    }
    return f;
  }

  void compare(FunctionId f, std::mt19937_64& rng) {
    Bench& b = *bench_;
    const std::vector<Tensor> in = b.random_inputs(b.body(f).param_types(), rng);
    const bool at_end = rng() % 4 != 0;
    Memory inputs, expected;
    for (const Tensor& x : in) {
      inputs.push_back(std::make_unique<Guarded>(static_cast<std::size_t>(x.bytes()), at_end));
      x.copy_to({inputs.back()->data(), inputs.back()->size()});
    }
    for (const auto& way : ways_) {
      const Result<PlanRef> plan = way->plans.get(b.t(), f);
      ASSERT_TRUE(plan) << plan.error().message;
      Memory outputs;
      for (const ValueType& r : (*plan)->results)
        outputs.push_back(std::make_unique<Guarded>(static_cast<std::size_t>(r.bytes), at_end));
      const auto to = pointers(outputs), from = pointers(inputs);
      const Status s = way->context.run(**plan, from, to);
      ASSERT_TRUE(s) << way->name << ": " << s.error().message;
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_TRUE(agree(expected[k]->data(), outputs[k]->data(), outputs[k]->size(), (*plan)->results[k].dtype))
            << way->name << ", result " << k;
      if (expected.empty()) expected = std::move(outputs);
    }
  }

  std::unique_ptr<Bench> bench_;
  std::vector<std::unique_ptr<Way>> ways_;
};

TEST_F(RandomTiers, HaveTheSameBits) {
  if (!NestCompiler::is_available()) GTEST_SKIP() << "no native code here";
  const int programs = from_environment("TFVM_RANDOM_PROGRAMS", 200), from = from_environment("TFVM_RANDOM_FIRST", 1);
  for (int k = 0; k < programs && !HasFailure(); ++k) {
    if (k % 50 == 0) renew();
    ASSERT_TRUE(bench_->vm);
    const int seed = from + k;
    SCOPED_TRACE("program " + std::to_string(seed));
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed) * 6364136223846793005u);
    ProgramMaker maker(bench_->t(), bench_->env().options, static_cast<std::uint64_t>(seed),
                       {.instrs = 8, .depth = 2, .while_loops = rng() % 2 == 0, .kinks = rng() % 2 == 0});
    const FunctionId f = maker.make(maker.mixed_types(1 + rng() % 2), maker.mixed_types(1 + rng() % 2));
    compare(transformed(f, rng), rng);
  }
}

}  // namespace
}  // namespace tfvm::testing
