// The functions that a VM keeps: bounded, in order of use, told apart by their guards; what they are made of goes and
// comes again without a difference; a sealed VM makes nothing.
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @wave(%x: f[..]) {
  %a = sin %x
  %b = mul %x, %x
  %y = add %a, %b
  ret %y
}
func @loss(%w: f32[4], %x: f32[n,4], %t: f32[n]) -> f32 {
  %p = dot %x, %w
  %l = mse_loss %p, %t
  ret %l
}
func @pick(%x: f32[n], %i: i64) -> f32 {
  %z = take %x, %i
  ret %z
}
func @cubed(%x: f32[n]) {
  %y = mul %x, %x
  %z = mul %y, %x
  ret %z
}
)";

struct Made {
  std::unique_ptr<VM> vm;
  Context context;
  std::vector<std::string> log;

  explicit Made(std::int64_t bytes = CacheOptions().bytes, bool logs = false) {
    VmOptions o;
    o.cache.bytes = bytes;
    o.tier.tier = Tier::Jit;
    if (logs)
      o.log = [this](std::string_view category, const std::string& message) {
        log.push_back(std::string(category) + ": " + message);
      };
    vm = *VM::create(o);
    EXPECT_TRUE(vm->load_text(kProgram, "cache.tfa"));
  }
  Tensor tensor(DType dtype, std::vector<std::int64_t> dims, double value = 0.5) {
    Tensor t = *Tensor::make(vm->budget(), dtype, dims);
    for (std::int64_t k = 0; k < t.elements(); ++k)
      store_element(dtype, value + static_cast<double>(k % 7), t.data() + k * size_of(dtype));
    return t;
  }
  Result<Function> entry(std::string_view callee, std::span<const Tensor> in) {
    std::vector<ArgType> types;
    for (const Tensor& t : in) types.push_back({t.dtype(), t.layout().dims});
    return vm->entry_for(callee, std::move(types));
  }
  std::vector<std::byte> bits(std::string_view callee, const std::vector<Tensor>& in) {
    const Result<Function> f = entry(callee, in);
    EXPECT_TRUE(f) << (f ? "" : f.error().message);
    return f ? bits(*f, in) : std::vector<std::byte>();
  }
  std::vector<std::byte> bits(const Function& f, const std::vector<Tensor>& in) {
    const auto out = vm->call(context, f, std::span<const Tensor>(in));
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    std::vector<std::byte> all;
    for (std::size_t k = 0; out && k < out->size(); ++k)
      all.insert(all.end(), (*out)[k].data(), (*out)[k].data() + (*out)[k].bytes());
    return all;
  }
  std::vector<Tensor> batch(std::int64_t n) {
    return {tensor(DType::F32, {4}), tensor(DType::F32, {n, 4}), tensor(DType::F32, {n})};
  }
  std::string refusal(std::string_view callee, const std::vector<Tensor>& in) {
    const Result<Function> f = entry(callee, in);
    EXPECT_FALSE(f);
    return f ? "" : std::string(name(f.error().code)) + ": " + f.error().message;
  }
};

TEST(Cache, AHitIsTheSamePlan) {
  Made m;
  const std::vector<Tensor> in{m.tensor(DType::F32, {3})};
  const Result<Function> a = m.entry("wave", in), b = m.entry("wave", in);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->plan, b->plan);
  const CacheStats s = m.vm->cache_stats();
  EXPECT_EQ(s.hits, 1);
  EXPECT_EQ(s.misses, 1);
  EXPECT_EQ(s.functions, 1);
  EXPECT_GT(s.bytes, 0);
}

TEST(Cache, TheLeastRecentlyUsedGoes) {
  Made probe;
  probe.bits("wave", {probe.tensor(DType::F32, {100})});
  const std::int64_t one = probe.vm->cache_stats().bytes;
  Made m(3 * one + one / 2);
  for (std::int64_t n : {100, 200, 300}) m.bits("wave", {m.tensor(DType::F32, {n})});
  m.bits("wave", {m.tensor(DType::F32, {100})});  // now that of 200 is the oldest
  m.bits("wave", {m.tensor(DType::F32, {400})});
  EXPECT_EQ(m.vm->cache_stats().evictions, 1);
  EXPECT_EQ(m.vm->cache_stats().hits, 1);
  m.bits("wave", {m.tensor(DType::F32, {100})});
  EXPECT_EQ(m.vm->cache_stats().hits, 2);
  m.bits("wave", {m.tensor(DType::F32, {200})});
  EXPECT_EQ(m.vm->cache_stats().hits, 2);
}

// Many shapes: what is kept and what it is made of stay below the cap, and results are those of a VM that is fresh.
TEST(Cache, ManyShapesStayBelowTheCap) {
  constexpr std::int64_t kCap = 1 << 20;
  Made m(kCap), fresh;
  const std::vector<Tensor> first = m.batch(1);
  const Result<Function> held = m.entry("grad(@loss)", first);
  ASSERT_TRUE(held);
  const std::vector<std::byte> bits = m.bits(*held, first);
  for (std::int64_t n = 2; n < 400; ++n) {
    const std::vector<Tensor> in = m.batch(n);
    const std::vector<std::byte> now = m.bits("grad(@loss)", in);
    if (n % 40 == 0) {
      EXPECT_EQ(now, fresh.bits("grad(@loss)", in)) << n;
    }
    const CacheStats s = m.vm->cache_stats();
    EXPECT_LE(s.bytes, kCap);
    EXPECT_LE(s.made_bytes, kCap + (1 << 19)) << n;
  }
  const CacheStats s = m.vm->cache_stats();
  EXPECT_GT(s.forgets, 3);
  EXPECT_GT(s.evictions, 100);
  EXPECT_EQ(m.bits(*held, first), bits);  // it went long ago, but for who holds it
  EXPECT_EQ(m.bits("grad(@loss)", first), bits);
}

TEST(Cache, WhatIsForgottenIsMadeAgain) {
  Made m;
  const std::vector<Tensor> in = m.batch(5);
  const std::vector<std::byte> bits = m.bits("hessian(@loss)", in);
  for (int k = 0; k < 3; ++k) {
    ASSERT_TRUE(m.vm->forget());
    EXPECT_EQ(m.vm->cache_stats().hits, k == 0 ? 0 : 2 * k - 1);  // of both functions, but for the first of the second
    EXPECT_EQ(m.bits("hessian(@loss)", in), bits);                // a hit: functions stay
    EXPECT_EQ(m.bits("vmap(grad(@loss), in_dims=[0, none, none])", {m.tensor(DType::F32, {2, 4}), in[1], in[2]}).size(),
              32u);
    ASSERT_TRUE(m.vm->load_text(fmt::format("func @more{}(%x: f32) {{ ret %x }}", k), "more.tfa"));
  }
}

TEST(Cache, ErrorsKeepTheirLines) {
  Made m;
  const std::vector<Tensor> in{m.tensor(DType::F32, {3}), m.tensor(DType::I64, {}, 7)};
  const Result<Function> f = m.entry("pick", in);
  ASSERT_TRUE(f);
  ASSERT_TRUE(m.vm->forget());
  ASSERT_TRUE(m.vm->forget());
  const auto out = m.vm->call(m.context, *f, std::span<const Tensor>(in));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Index);
  EXPECT_EQ(out.error().loc.line, 14u);
  ASSERT_FALSE(out.error().notes.empty());
  EXPECT_EQ(out.error().notes.back(), "in @pick");
}

TEST(Cache, ValuesFromBeforeStayUsable) {
  Made m;
  ASSERT_TRUE(m.entry("loss", m.batch(2)));  // the library is there, and what comes now is not what stays
  const Value old = m.vm->value(m.tensor(DType::F32, {3}));
  const Result<Function> before = m.vm->entry("wave", std::vector<TypeId>{old.type});
  ASSERT_TRUE(before);
  ASSERT_TRUE(m.vm->forget());
  m.vm->value(m.tensor(DType::F64, {9}));
  const Value now = m.vm->value(m.tensor(DType::F32, {3})), other = m.vm->value(m.tensor(DType::F32, {4}));
  EXPECT_NE(old.type, now.type);
  for (const Value& v : {old, now}) EXPECT_TRUE(m.vm->call(m.context, *before, std::vector<Value>{v}));
  const auto bad = m.vm->call(m.context, *before, std::vector<Value>{other});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "input 0 must be f32[3], not f32[4]");
  const Result<Function> stale = m.vm->entry("wave", std::vector<TypeId>{old.type});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::Type);
}

// What a pack is made of is needed to prepare who takes it.
TEST(Cache, PacksKeepWhatTheyAreMadeOf) {
  Made m;
  const Value x = m.vm->value(m.tensor(DType::F32, {3}));
  std::vector<Value> out;
  {
    const Result<Function> linear = m.vm->entry("linearize(@cubed)", std::vector<TypeId>{x.type});
    ASSERT_TRUE(linear) << linear.error().message;
    out = *m.vm->call(m.context, *linear, std::vector<Value>{x});
  }
  ASSERT_EQ(out.size(), 2u);
  EXPECT_FALSE(m.vm->forget());
  const Result<Function> lin = m.vm->entry("lin(@cubed)", std::vector<TypeId>{out[1].type, x.type});
  ASSERT_TRUE(lin) << lin.error().message;
  EXPECT_TRUE(m.vm->call(m.context, *lin, std::vector<Value>{out[1], x}));
  EXPECT_FALSE(m.vm->forget());
}

TEST(Cache, PacksThatAreGoneKeepNothing) {
  Made m;
  const Value x = m.vm->value(m.tensor(DType::F32, {3}));
  {
    const Result<Function> linear = m.vm->entry("linearize(@cubed)", std::vector<TypeId>{x.type});
    ASSERT_TRUE(linear);
    const auto out = m.vm->call(m.context, *linear, std::vector<Value>{x});
    EXPECT_FALSE(m.vm->forget());
  }
  EXPECT_TRUE(m.vm->forget());
}

TEST(Sealed, SaysWhichGuardMissed) {
  Made m;
  const std::vector<Tensor> in{m.tensor(DType::F32, {3, 2})};
  const std::vector<std::byte> bits = m.bits("wave", in);
  m.vm->seal();
  EXPECT_EQ(m.bits("wave", in), bits);
  EXPECT_EQ(m.refusal("wave", {m.tensor(DType::F64, {3, 2})}),
            "sealed: wave would have to be made: argument 0: dtype is f64, was f32");
  EXPECT_EQ(m.refusal("wave", {m.tensor(DType::F32, {3, 4})}),
            "sealed: wave would have to be made: argument 0: dim 1 is 4, was 2");
  EXPECT_EQ(m.refusal("wave", {m.tensor(DType::F32, {3})}),
            "sealed: wave would have to be made: argument 0: rank is 1, was 2");
  EXPECT_EQ(m.refusal("wave", {in[0], in[0]}), "sealed: wave would have to be made: 2 arguments, were 1");
  EXPECT_EQ(m.refusal("cubed", {m.tensor(DType::F32, {3})}),
            "sealed: cubed would have to be made: it is not prepared at all");
  EXPECT_FALSE(m.vm->load_text("func @more(%x: f32) { ret %x }", "more.tfa"));
}

TEST(Log, NamesTheGuardThatMissed) {
  Made m(CacheOptions().bytes, true);
  m.bits("loss", m.batch(3));
  m.bits("loss", m.batch(3));
  m.bits("loss", m.batch(5));
  std::vector<std::string> cache;
  for (const std::string& line : m.log)
    if (line.starts_with("guards") || line.starts_with("recompiles")) cache.push_back(line);
  EXPECT_EQ(cache, (std::vector<std::string>{"guards: loss: %w f32[4], %x f32[3,4], %t f32[3]",
                                             "guards: loss: %w f32[4], %x f32[5,4], %t f32[5]",
                                             "recompiles: loss: argument 1 %x: dim 0 is 5, was 3"}));
}

// Sixteen threads call one function while another makes others, which drives it out of the cache.
TEST(Cache, ThreadsCallWhileFunctionsGo) {
  constexpr int kThreads = 16, kCalls = 6250;
  Made m(1 << 16);
  const std::vector<Tensor> in{m.tensor(DType::F32, {64})};
  const Result<Function> f = m.entry("wave", in);
  ASSERT_TRUE(f);
  const std::vector<std::byte> bits = m.bits(*f, in);
  std::vector<std::unique_ptr<Context>> contexts;
  for (int t = 0; t < kThreads; ++t) contexts.push_back(std::make_unique<Context>(m.vm->budget()));
  const std::int64_t before = m.vm->budget()->used();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> out(64);
      const std::vector<Tensor> outputs{Tensor::over(out.data(), DType::F32, row_major(std::vector<std::int64_t>{64}))};
      for (int k = 0; k < kCalls; ++k) {
        const Status s = contexts[static_cast<std::size_t>(t)]->call(*f->plan, in, outputs);
        wrong += !s || std::memcmp(out.data(), bits.data(), bits.size()) != 0;
      }
    });
  for (std::int64_t n = 1; n <= 200; ++n) EXPECT_TRUE(m.entry("cubed", std::vector<Tensor>{m.tensor(DType::F32, {n})}));
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(m.vm->cache_stats().evictions, 0);
  std::int64_t slabs = 0;
  for (const auto& c : contexts) slabs += c->slab_bytes() + 64;
  EXPECT_LE(m.vm->budget()->used() - before, slabs + 16 * 64);
}

}  // namespace
}  // namespace tfvm
