// Tiers: code is made when they say, and no bit of a result depends on them.
#include "vm/tiers.h"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "vm/kernels/gemm_wide.h"
#include "vm/plan/walk.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @wave(%x: f32[n]) {
  %a = sin %x
  %b = mul %x, %x
  %c = neg %b
  %d = exp %c
  %y = mul %a, %d
  ret %y
}
func @sorted(%x: f32[n]) {
  %a = sort %x
  ret %a
}
// Carries that change places, one that stays, rows in and out, backwards.
func @loop(%x: f32[n], %y: f32[n], %w: f32[n], %rows: f32[t,n]) {
  %a, %b, %k, %out = scan (%a = %x, %b = %y, %k = %w; %u = %rows) {reverse=true} {
    %p = mul %a, 0.5
    %q = add %p, %u
    %r = mul %q, %k
    yield %b, %r, %k; %q
  }
  ret %a, %b, %k, %out
}
)";

struct Made {
  std::unique_ptr<VM> vm;
  Function f;
  Context context;

  Made(TierOptions tier, std::int64_t n) : context(std::make_shared<Budget>()) {
    VmOptions options;
    options.tier = tier;
    vm = *VM::create(options);
    EXPECT_TRUE(vm->load_text(kProgram, "wave.tfa"));
    Tensor x = *Tensor::make(vm->budget(), DType::F32, std::vector<std::int64_t>{n});
    for (std::int64_t k = 0; k < n; ++k) reinterpret_cast<float*>(x.data())[k] = static_cast<float>(k % 977) / 100;
    in = {x};
    f = *vm->entry("wave", std::vector<TypeId>{vm->type_of(x)});
  }
  std::vector<Tensor> in;

  std::vector<float> call() {
    const auto out = vm->call(context, f, in);
    EXPECT_TRUE(out);
    return floats(out->front());
  }
  static std::vector<float> floats(const Tensor& t) {
    std::vector<float> v(static_cast<std::size_t>(t.elements()));
    std::memcpy(v.data(), t.data(), v.size() * 4);
    return v;
  }
  std::size_t shapes() { return vm->tiers().compiler().counts().shapes; }
  const NativeNest* code() { return f.plan->nests.front().native ? f.plan->nests.front().native->ready() : nullptr; }
};

class Tiering : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!NestCompiler::is_available()) GTEST_SKIP() << "no native code here";
  }
};

TEST_F(Tiering, InterpMakesNone) {
  Made m({.tier = Tier::Interp, .hot = 0}, 1000);
  m.call();
  EXPECT_EQ(m.shapes(), 0u);
}

TEST_F(Tiering, JitMakesItWithThePlan) {
  Made m({.tier = Tier::Jit}, 1000), other({.tier = Tier::Interp}, 1000);
  EXPECT_TRUE(m.code());
  EXPECT_EQ(m.call(), other.call());
}

TEST_F(Tiering, AutoMakesItWhenHot) {
  Made m({.tier = Tier::Auto, .sync = true, .hot = 200'000}, 1000);
  const std::vector<float> first = m.call();
  EXPECT_FALSE(m.code());
  for (int k = 0; k < 9; ++k) EXPECT_EQ(m.call(), first);
  EXPECT_TRUE(m.code());
  EXPECT_EQ(m.shapes(), 1u);
}

TEST_F(Tiering, AutoMakesItOnAThread) {
  Made m({.tier = Tier::Auto, .hot = 0}, 1000);
  const std::vector<float> first = m.call();
  m.vm->tiers().wait();
  EXPECT_TRUE(m.code());
  EXPECT_EQ(m.call(), first);
}

// A loop that starts interpreted goes on as machine code from the trip on before which there is some.
TEST_F(Tiering, ALoopTakesCodeAtATrip) {
  const auto run = [](TierOptions tier, std::int64_t trips, bool watched, bool takes_over) {
    VmOptions options;
    options.tier = tier;
    const auto vm = *VM::create(options);
    EXPECT_TRUE(vm->load_text(kProgram, "wave.tfa"));
    std::vector<Tensor> in;
    for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{37}, {37}, {37}, {trips, 37}}) {
      in.push_back(*Tensor::make(vm->budget(), DType::F32, dims));
      for (std::int64_t k = 0; k < in.back().elements(); ++k)
        in.back().as<float>()[k] = static_cast<float>((k * 7 + std::ssize(in)) % 23) / 16;
    }
    std::vector<ArgType> types;
    for (const Tensor& t : in) types.push_back({t.dtype(), t.layout().dims});
    const Result<Function> f = vm->entry_for("loop", std::move(types));
    EXPECT_TRUE(f);
    Context context(vm->budget());
    if (watched) context.limits.deadline = RunLimits::Time::max();
    const auto out = vm->call(context, *f, std::span<const Tensor>(in));
    EXPECT_TRUE(out);
    if (takes_over) {
      const ScanStep& s = f->plan->scans.front();
      EXPECT_TRUE(s.native.code && s.native.code->ready());
      for (const NestStep& n : s.body->nests) EXPECT_FALSE(n.native->ready());  // they ran once
    }
    std::vector<float> all;
    for (const Tensor& t : *out) {
      const std::vector<float> v = Made::floats(t);
      all.insert(all.end(), v.begin(), v.end());
    }
    return all;
  };
  for (const std::int64_t trips : {1, 2, 3, 4, 5, 40, 41})
    for (const bool watched : {false, true})
      EXPECT_EQ(run({.tier = Tier::Auto, .sync = true, .hot = 3'500}, trips, watched, trips > 4),
                run({.tier = Tier::Interp}, trips, watched, false))
          << trips;
}

TEST_F(Tiering, ThreadsMeet) {
  Made m({.tier = Tier::Auto, .hot = 50'000}, 1000);
  const std::vector<float> first = m.call();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Context own(m.vm->budget());
      for (int k = 0; k < 100; ++k) {
        const auto out = m.vm->call(own, m.f, m.in);
        ASSERT_TRUE(out);
        ASSERT_EQ(Made::floats(out->front()), first);
      }
    });
  for (std::thread& t : threads) t.join();
  m.vm->tiers().wait();
  EXPECT_EQ(m.shapes(), 1u);
}

// Handles may outlive the VM, with code asked for and never made.
TEST_F(Tiering, FunctionsOutliveTheVm) {
  auto m = std::make_unique<Made>(TierOptions{.tier = Tier::Auto, .hot = 0}, 1000);
  const Function f = m->f;
  const std::vector<Tensor> in = m->in;
  m.reset();
  Context context;
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(context.call(*f.plan, in));
}

// A pause between parts of native code, and jobs, change no bits.
TEST_F(Tiering, PartsHaveTheSameBits) {
  constexpr std::int64_t n = 1 << 18;
  Made m({.tier = Tier::Jit}, n);
  const std::vector<float> whole = m.call();
  std::vector<float> out(n);
  std::byte** roots = m.context.open(*m.f.plan);
  ASSERT_TRUE(roots);
  roots[0] = m.in[0].data();
  roots[1] = reinterpret_cast<std::byte*>(out.data());
  int pauses = 0;
  m.context.limits.pause = RunLimits::Time::min();  // always due
  RunEnd end = m.context.run_open(*m.f.plan);
  for (; end == RunEnd::Paused && pauses < 1000; ++pauses) end = m.context.resume(*m.f.plan);
  EXPECT_EQ(end, RunEnd::Done);
  EXPECT_GT(pauses, 2);
  EXPECT_EQ(out, whole);

  m.context.limits.pause.reset();
  std::size_t parts = 0;
  m.context.jobs = {[](void* user, void (*job)(void*, std::size_t), void* arg, std::size_t count) {
                      *static_cast<std::size_t*>(user) = count;
                      for (std::size_t k = count; k-- > 0;) job(arg, k);
                    },
                    &parts, 4};
  EXPECT_EQ(m.call(), whole);
  EXPECT_EQ(parts, 4u);
}

TEST_F(Tiering, ACancelledNestEnds) {
  Made m({.tier = Tier::Jit}, 1 << 18);
  std::atomic<bool> cancel = true;
  m.context.limits.cancel = &cancel;
  const auto out = m.vm->call(m.context, m.f, m.in);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Cancelled);
}

// What a host asks for reaches products, too: their kernels pack for the registers that they use.
TEST(TierOptions, TheIsaIsThatOfProducts) {
  constexpr std::string_view kProducts = R"(
func @dot(%x: f32[n,n]) {
  %y = dot_general %x, %x {batch=[[],[]], contract=[[1],[0]]}
  ret %y
}
func @conv(%x: f32[1,n,n], %w: f32[n,n,3]) {
  %y = conv %x, %w {strides=[1], padding=[[0,0]], lhs_dilation=[1], rhs_dilation=[1]}
  ret %y
}
)";
  const auto scratch = [&](std::optional<Isa> isa) {
    VmOptions options;
    options.tier = {.isa = isa};
    const auto vm = *VM::create(options);
    EXPECT_TRUE(vm->load_text(kProducts, "products.tfa"));
    std::vector<std::size_t> bytes;
    for (const auto& [name, types] : {std::pair("dot", "f32[200,200]"), {"conv", "f32[1,200,200], f32[200,200,3]"}}) {
      const auto f = vm->entry_for(name, *vm->parse_args(types));
      EXPECT_TRUE(f) << (f ? "" : f.error().message);
      if (f) bytes.push_back(f->plan->kernels.front().kernel.scratch_bytes);
    }
    return bytes;
  };
  const std::vector<std::size_t> best = scratch({}), avx2 = scratch(Isa::Avx2);
  for (std::size_t k = 0; k < best.size(); ++k) EXPECT_EQ(best[k] != avx2[k], gemm_has_wide()) << k;
}

TEST(TierOptions, ReadTheEnvironment) {
  setenv("TFVM_ISA", "avx2", 1);
  setenv("TFVM_CHAOS", "few_registers", 1);
  EXPECT_EQ(tier_options_of_environment().isa, Isa::Avx2);
  EXPECT_TRUE(tier_options_of_environment().few_registers);
  unsetenv("TFVM_ISA");
  unsetenv("TFVM_CHAOS");
  EXPECT_EQ(tier_options_of_environment().isa, std::nullopt);
  EXPECT_FALSE(tier_options_of_environment().few_registers);
  EXPECT_EQ(parse_tier("jit"), Tier::Jit);
  EXPECT_EQ(parse_tier("fast"), std::nullopt);
}

}  // namespace
}  // namespace tfvm
