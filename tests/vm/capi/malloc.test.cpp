// Calls allocate nothing once they are warm: counted at malloc, over 10^6 calls. Functions for many shapes take no more
// memory than those for some.
#include <atomic>
#include <cstdlib>

#include <malloc.h>

#include "jit/x86/native.h"
#include "tests/vm/capi/host.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {
std::atomic<long> g_count{0};
}

extern "C" {
void* malloc(std::size_t n) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, n);
}
void* memalign(std::size_t alignment, std::size_t n) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, n);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t n) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : 12;
}
void free(void* p) { __libc_free(p); }
}

namespace tfvm::testing {
namespace {

constexpr std::string_view kTiny = R"(
func @line(%a: f32[3], %x: f32[3], %b: f32[3]) -> f32[3] {
  %p = mul %a, %x
  %y = add %p, %b
  ret %y
}
func @rosenbrock(%p: f32[3]) -> f32 {
  %u = slice %p {start=[1], limit=[3]}
  %v = slice %p {start=[0], limit=[2]}
  %s = mul %v, %v
  %d = sub %u, %s
  %q = mul %d, %d
  %h = mul %q, 100
  %o = sub 1, %v
  %r = mul %o, %o
  %e = add %h, %r
  %l = reduce_sum %e
  ret %l
}
func @loop(%x: f32[3]) -> f32[3] {
  %y = scan (%c = %x;) {length=3} {
    %d = mul %c, 0.5
    yield %d;
  }
  ret %y
}
)";

long allocations_in(Host& h, const tfvm_function* f, const std::vector<const void*>& in, const std::vector<void*>& out,
                    int calls) {
  EXPECT_EQ(h.call(f, in, out), TFVM_OK) << h.e.message;
  const long before = g_count.load();
  int failed = 0;
  for (int k = 0; k < calls; ++k)
    failed += tfvm_call(h.context, f, in.data(), in.size(), out.data(), out.size(), &h.e) != TFVM_OK;
  const long counted = g_count.load() - before;
  EXPECT_EQ(failed, 0);
  return counted;
}

TEST(CApiMalloc, TheHookCounts) {
  const long before = g_count.load();
  delete new int(3);
  std::free(std::malloc(3));
  EXPECT_GE(g_count.load() - before, 1);
}

TEST(CApiMalloc, AMillionCallsAllocateNothing) {
  Host h(kTiny);
  const float a[] = {1, 2, 3}, x[] = {0.5, -1, 2}, b[] = {3, 1, -1}, p[] = {1.2f, 0.7f, 0.9f};
  float y[3];
  EXPECT_EQ(allocations_in(h, h.prepare("@line"), {a, x, b}, {y}, 1'000'000), 0);
  EXPECT_EQ(allocations_in(h, h.prepare("grad(@rosenbrock)"), {p}, {y}, 100'000), 0);
  EXPECT_EQ(allocations_in(h, h.prepare("@loop"), {p}, {y}, 100'000), 0);
}

TEST(CApiMalloc, BoundCallsAllocateNothing) {
  Host h(kTiny);
  const float a[] = {1, 2, 3}, x[] = {0.5, -1, 2}, b[] = {3, 1, -1};
  float y[3];
  const void* in[] = {a, x, b};
  void* out[] = {y};
  tfvm_bound* bound = nullptr;
  ASSERT_EQ(tfvm_bind(h.context, h.prepare("@line"), in, 3, out, 1, &bound, &h.e), TFVM_OK);
  if (!tfvm::NestCompiler::is_available()) tfvm_call_bound(bound, nullptr);  // interpreted: the first makes the frame
  const long before = g_count.load();
  for (int k = 0; k < 1'000'000; ++k) tfvm_call_bound(bound, nullptr);
  EXPECT_EQ(g_count.load() - before, 0);
  tfvm_bound_release(bound);
}

// Functions that write run by steps.
constexpr std::string_view kWrites = R"(
extern op "count"(mut %x: f64[..], %by: f64) -> f64
buffer @total: f64
func @bump(mut %x: f32[3], %k: f32) -> f32[3] {
  add_ %x, %k
  ret %x
}
func @much(mut %x: f64[4,4], %n: i64) -> (f64[4], f64[5], f64[4,4]) {
  %column = select %x {axis=1, index=1}
  %i = while (%i = 0) {
    %p = lt %i, %n
    yield %p
  } do {
    %v = narrow %x {axis=0, start=1, length=2}
    add_ %v, 1.5
    %c = count %column, 0.5
    add_ @total, %c
    %s = reduce_sum %x
    %big = gt %s, 20
    if %big {
      mul_ %x, 0.25
      yield
    } else {
      call @twice(%x)
      yield
    }
    %j = add %i, 1
    yield %j
  }
  %zero = clone 0 : f64
  %last, %ys = scan (%last = %zero; %row = %x) {
    %e = as_strided %x {shape=[2, 2], strides=[4, 2], offset=1}
    copy_ %e, %last
    %z = select %row {axis=0, index=0}
    dynamic_update_slice_ %column, %z, 1
    %w = reduce_sum %row
    yield %w; %w
  }
  %t = transpose %x {perm=[1, 0]}
  %d = diagonal %t {offset=0, axis1=0, axis2=1}
  %r = clone %d
  %l = reshape %last {shape=[1]}
  %more = concat %ys, %l {axis=0}
  ret %r, %more, %t
}
func @twice(mut %x: f64[..]) {
  mul_ %x, 2
  ret
}
)";

int count(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t, char*, std::size_t) {
  auto* x = static_cast<double*>(in[0].tensors[0].data);
  for (std::int64_t k = 0; k < in[0].tensors[0].dims[0]; ++k)
    x[k] += static_cast<double>(k) * *static_cast<const double*>(in[1].tensors[0].data);
  *static_cast<double*>(out[0].data) = x[0];
  return 0;
}

TEST(CApiMalloc, CallsThatWriteAllocateNothingOnceTheyAreWarm) {
  Host h(kWrites);
  tfvm_op op{};
  op.size = sizeof op;
  op.kernel = count;
  ASSERT_EQ(tfvm_register_op(h.vm, "count", &op, &h.e), TFVM_OK) << h.e.message;
  float x[] = {1, 2, 3}, y[3];
  const float k = 0.5;
  EXPECT_EQ(allocations_in(h, h.prepare("@bump"), {x, &k}, {y}, 1'000'000), 0);
  EXPECT_EQ(y[0], x[0]);
  double many[16] = {1, 2, 3, 4, 5, 6, 7, 8}, r[4], ys[5], t[16];
  const std::int64_t n = 7;
  tfvm_function* much = h.prepare("@much");
  EXPECT_EQ(h.call(much, {many, &n}, {r, ys, t}), TFVM_OK) << h.e.message;
  EXPECT_EQ(allocations_in(h, much, {many, &n}, {r, ys, t}, 10'000), 0);
  EXPECT_EQ(allocations_in(h, h.prepare("@bump"), {x, &k}, {y}, 1000), 0);
}

long bytes_in_use() {
  const struct mallinfo2 m = mallinfo2();
  return static_cast<long>(m.uordblks + m.hblkhd);
}

// What is made for a shape goes again, memory and all, when the cache is full: here every hundred shapes or so.
TEST(CApiMalloc, ManyShapesTakeNoMoreMemory) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.cache_bytes = 1 << 20;
  Host h(
      "func @loss(%w: f32[4], %x: f32[n,4]) -> f32 {\n  %y = dot %x, %w\n  %z = tanh %y\n  %l = reduce_sum %z\n"
      "  ret %l\n}\n",
      &o);
  long most[2] = {0, 0};
  for (int n = 1; n <= 2000; ++n) {
    tfvm_function* f = nullptr;
    const std::string types = "f32[4], f32[" + std::to_string(n) + ",4]";
    ASSERT_EQ(tfvm_prepare(h.vm, "grad(@loss)", types.c_str(), &f, &h.e), TFVM_OK) << h.error();
    tfvm_function_release(f);
    if (n % 16 == 0) most[n > 1000] = std::max(most[n > 1000], bytes_in_use());
  }
  EXPECT_LE(most[1] - most[0], 1 << 20);
}

}  // namespace
}  // namespace tfvm::testing
