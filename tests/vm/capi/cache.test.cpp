// The cache through the C API: its size, its numbers, sealing; and R24 and R25 of the reports, with one VM for all
// calls.
#include <atomic>
#include <cstddef>
#include <thread>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
func @twice(%x: f32[n]) {
  %y = add %x, %x
  ret %y
}
func @f(mut %x: f64[n], %y: f64[n]) {
  %w = mul_ %x, 2.0
  %r = add %x, %y
  ret %r
}
func @g(mut %x: f64[n], mut %y: f64[n]) {
  %a = mul_ %x, 2.0
  %b = add_ %y, 1.0
  %r = add %x, %y
  ret %r
}
func @rows(%x: f64[2,3]) -> f64 {
  %r = select %x {axis=0, index=0}
  %y = dot %r, [1, 10, 100]
  ret %y
}
func @square(%p: f64, %x: f64) -> f64 {
  %s = mul %x, %x
  %y = mul %p, %s
  ret %y
}
func @table(%x: i1[n], %y: i2[m]) {
  %yi = cast %y {dtype=i32}
  %xi = cast %x {dtype=i32}
  %yf = cast %yi {dtype=f32}
  %xf = cast %xi {dtype=f32}
  %r = outer %yf, %xf
  ret %r
}
)";

tfvm_cache_statistics stats(const Host& h) {
  tfvm_cache_statistics s = TFVM_CACHE_STATISTICS;
  EXPECT_EQ(tfvm_cache_stats(h.vm, &s), TFVM_OK);
  return s;
}

TEST(CapiCache, CountsAndBounds) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.cache_bytes = 1 << 16;
  Host h(kProgram, &o);
  for (int n = 1; n <= 300; ++n) h.prepare("@twice", ("f32[" + std::to_string(n) + "]").c_str());
  h.prepare("@twice", "f32[300]");
  const tfvm_cache_statistics s = stats(h);
  EXPECT_EQ(s.limit, 1 << 16);
  EXPECT_EQ(s.misses, 300);
  EXPECT_EQ(s.hits, 1);
  EXPECT_GT(s.evictions, 0);
  EXPECT_GT(s.forgets, 0);
  EXPECT_EQ(s.functions, s.misses - s.evictions);
  EXPECT_LE(s.bytes, s.limit);
  EXPECT_LE(s.made_bytes, 2 * s.limit);
  // Those that were evicted are the host's still.
  float x[3] = {1, 2, 3}, y[3];
  EXPECT_EQ(h.call(h.functions[2], {x}, {y}), TFVM_OK);
  EXPECT_EQ(y[2], 6);
}

TEST(CapiCache, OlderHostsAndMisuse) {
  Host h(kProgram);
  tfvm_cache_statistics s = TFVM_CACHE_STATISTICS;
  s.size = offsetof(tfvm_cache_statistics, evictions);
  s.evictions = 77;
  EXPECT_EQ(tfvm_cache_stats(h.vm, &s), TFVM_OK);
  EXPECT_EQ(s.evictions, 77);
  EXPECT_EQ(tfvm_cache_stats(h.vm, nullptr), TFVM_MISUSE);
  tfvm_seal(nullptr);
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.cache_bytes = -1;
  tfvm_vm* vm = nullptr;
  EXPECT_EQ(tfvm_vm_create(&o, &vm, &h.e), TFVM_MISUSE);
}

TEST(CapiCache, SealedSaysWhichGuardMissed) {
  Host h(kProgram);
  h.prepare("@twice", "f32[3]");
  tfvm_seal(h.vm);
  h.prepare("@twice", "f32[3]");
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(h.vm, "@twice", "f32[4]", &f, &h.e), TFVM_SEALED);
  EXPECT_EQ(h.error(), "sealed @twice would have to be made: argument 0: dim 0 is 4, was 3");
  EXPECT_EQ(tfvm_load_text(h.vm, "func @a() {}", 12, nullptr, nullptr, &h.e), TFVM_SEALED);
}

TEST(CapiCache, SealedFormsOfWrappers) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.flags = TFVM_FUNCTIONALIZE;
  Host h(kProgram, &o);
  tfvm_function* f = h.prepare("@f", "f64[2], f64[2]");
  double base[4] = {1, 1, 1, 1}, other[2] = {1, 1}, r[2];
  EXPECT_EQ(h.call(f, {base, other}, {r}), TFVM_OK);
  tfvm_seal(h.vm);
  EXPECT_EQ(h.call(f, {base, other}, {r}), TFVM_OK);
  EXPECT_EQ(h.call(f, {base, base + 1}, {r}), TFVM_SEALED);
  EXPECT_NE(h.error().find("a form would have to be made"), std::string::npos) << h.error();
}

// Many threads prepare and call, all at once, with a cache too small for what they use.
TEST(CapiCache, ThreadsPrepareAndCall) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.cache_bytes = 1 << 14;
  Host h(kProgram, &o);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      tfvm_error e = TFVM_ERROR;
      tfvm_context* c = nullptr;
      if (tfvm_context_create(h.vm, nullptr, &c, &e)) return void(++wrong);
      std::vector<float> x(64, 1.5f), y(64);
      for (int k = 0; k < 200; ++k) {
        tfvm_function* f = nullptr;
        const std::string type = "f32[" + std::to_string(1 + (7 * k + t) % 64) + "]";
        const void* in[] = {x.data()};
        void* out[] = {y.data()};
        y[0] = 0;
        wrong += tfvm_prepare(h.vm, "@twice", type.c_str(), &f, &e) != TFVM_OK ||
                 tfvm_call(c, f, in, 1, out, 1, &e) != TFVM_OK || y[0] != 3;
        tfvm_function_release(f);
      }
      tfvm_context_release(c);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// R24: one function, arguments apart, overlapping, side by side; in this order and reversed.
void aliased(Host& h, bool reversed) {
  tfvm_function* f4 = h.prepare("@f", "f64[4], f64[4]");
  tfvm_function* f3 = h.prepare("@f", "f64[3], f64[3]");
  tfvm_function* g4 = h.prepare("@g", "f64[4], f64[4]");
  const auto apart = [&] {
    std::vector<double> x(4, 1), y(4, 1), r(4);
    EXPECT_EQ(h.call(f4, {x.data(), y.data()}, {r.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(r, (std::vector<double>{3, 3, 3, 3}));
  };
  const auto overlapping = [&] {
    std::vector<double> base(8, 1), r(4);
    EXPECT_EQ(h.call(f4, {base.data(), base.data() + 2}, {r.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(r, (std::vector<double>{4, 4, 3, 3}));
    EXPECT_EQ(base, (std::vector<double>{2, 2, 2, 2, 1, 1, 1, 1}));
  };
  const auto both_written = [&] {
    std::vector<double> base(8, 1), r(4);
    EXPECT_EQ(h.call(g4, {base.data(), base.data() + 2}, {r.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(r, (std::vector<double>{5, 5, 5, 5}));
    EXPECT_EQ(base, (std::vector<double>{2, 2, 3, 3, 2, 2, 1, 1}));
  };
  const auto beside = [&] {
    std::vector<double> base(8, 1), r(3);
    EXPECT_EQ(h.call(f3, {base.data(), base.data() + 4}, {r.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(r, (std::vector<double>{3, 3, 3}));
  };
  if (!reversed) apart(), overlapping(), both_written(), beside();
  if (reversed) beside(), both_written(), overlapping(), apart();
}

TEST(Reports, R24Aliasing) {
  for (const std::uint64_t flags : {std::uint64_t{0}, TFVM_FUNCTIONALIZE}) {
    tfvm_vm_options o = TFVM_VM_OPTIONS;
    o.flags = flags;
    for (bool first : {false, true}) {
      Host h(kProgram, &o);
      aliased(h, first);
      aliased(h, !first);
    }
  }
}

TEST(Reports, R24Strides) {
  Host h(kProgram);
  tfvm_function* f = h.prepare("@rows");
  double storage[6] = {0, 1, 2, 3, 4, 5}, y = 0;
  for (int round = 0; round < 2; ++round)
    for (const auto& [strides, right] : {std::pair{std::vector<std::int64_t>{3, 1}, 210.0}, {{1, 2}, 420.0}}) {
      const std::vector<std::int64_t> dims{2, 3}, none;
      const tfvm_view in = view(storage, dims, TFVM_F64, &strides), out = view(&y, none, TFVM_F64);
      EXPECT_EQ(tfvm_call_views(h.context, f, &in, 1, &out, 1, &h.e), TFVM_OK) << h.error();
      EXPECT_EQ(y, right);
    }
}

TEST(Reports, R24GradMode) {
  Host h(kProgram);
  const double p = 3, x = 2;
  double y = 0, d = 0;
  EXPECT_EQ(h.call(h.prepare("@square"), {&p, &x}, {&y}), TFVM_OK);
  EXPECT_EQ(y, 12);
  y = 0;
  EXPECT_EQ(h.call(h.prepare("value_and_grad(@square)"), {&p, &x}, {&y, &d}), TFVM_OK);
  EXPECT_EQ(y, 12);
  EXPECT_EQ(d, 4);
}

TEST(Reports, R25DtypesOfInputs) {
  Host h(kProgram);
  float r[4];
  const auto call = [&](const char* types, const void* x, const void* y) {
    EXPECT_EQ(h.call(h.prepare("@table", types), {x, y}, {r}), TFVM_OK) << h.error();
    return std::vector<float>(r, r + 4);
  };
  const std::uint16_t x[] = {10, 20}, x2[] = {65535, 1};
  const std::int8_t y[] = {1, 2}, y2[] = {-1, 127};
  const std::int32_t xi[] = {10, 20};
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(call("u16[2], i8[2]", x, y), (std::vector<float>{10, 20, 20, 40}));
    EXPECT_EQ(call("u16[2], i8[2]", x2, y2), (std::vector<float>{-65535, -1, 8322945, 127}));
    EXPECT_EQ(call("i32[2], i8[2]", xi, y), (std::vector<float>{10, 20, 20, 40}));
  }
  EXPECT_EQ(stats(h).misses, 2);
}

}  // namespace
}  // namespace tfvm::testing
