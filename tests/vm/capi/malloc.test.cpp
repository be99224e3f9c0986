// Calls allocate nothing once they are warm: counted at malloc, over 10^6 calls.
#include <atomic>
#include <cstdlib>

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

}  // namespace
}  // namespace tfvm::testing
