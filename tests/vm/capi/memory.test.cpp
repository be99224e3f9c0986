// Memory that is refused, at each place in turn: by the host's allocator, and by operator new.
#include <cstdlib>
#include <map>

#include "tests/vm/capi/host.h"
#include "tests/vm/capi/refused.h"
#include "vm/capi/dlpack.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
param @w: f32[3] = [1, 2, 3]
buffer @state: f32[100]
param @v: f32[3] = call @twice(@w)
func @twice(%x: f32[3]) -> f32[3] {
  %y = add %x, %x
  ret %y
}
func @f(%x: f32[3], %n: i64) -> f32 {
  %i, %s = while (%i = 0, %s = %x) {
    %p = lt %i, %n
    yield %p
  } do {
    %j = add %i, 1
    %t = mul %s, @v
    yield %j, %t
  }
  %k = softmax %s
  %r = reduce_sum %k
  ret %r
}
)";

// Everything that a host does once; the first status that is no success.
tfvm_status scenario(const tfvm_vm_options* options, std::string& message) {
  tfvm_error e = TFVM_ERROR;
  tfvm_vm* vm = nullptr;
  tfvm_context* c = nullptr;
  tfvm_function *f = nullptr, *g = nullptr, *built = nullptr;
  tfvm_value *x = nullptr, *over = nullptr, *out[2] = {}, *back = nullptr;
  tfvm_builder* b = nullptr;
  DLManagedTensor* dl = nullptr;
  const float data[3] = {1, 2, 3};
  const std::int64_t n = 2;
  float gradient[3] = {}, y[2] = {};
  const std::vector<std::int64_t>* dims = nullptr;
  static const std::vector<std::int64_t> kThree{3}, kNone;
  dims = &kThree;
  const tfvm_view v = view(data, *dims, TFVM_F32);
  const void *in[] = {data, &n}, *one[] = {data};
  void *to[] = {gradient}, *result[] = {y};
  tfvm_status s = tfvm_vm_create(options, &vm, &e);
  const auto then = [&](auto next) {
    if (s == TFVM_OK) s = next();
  };
  then([&] { return tfvm_load_text(vm, kProgram.data(), kProgram.size(), "a.tfa", nullptr, &e); });
  then([&] { return tfvm_context_create(vm, nullptr, &c, &e); });
  then([&] { return tfvm_prepare(vm, "@f", nullptr, &f, &e); });
  then([&] { return tfvm_prepare(vm, "grad(@f)", nullptr, &g, &e); });
  then([&] { return tfvm_call(c, f, in, 2, result, 1, &e); });
  then([&] { return tfvm_call(c, g, in, 2, to, 1, &e); });
  then([&] { return tfvm_run_for(c, f, in, 2, result, 1, 1'000'000, &e); });
  then([&] { return tfvm_builder_create(vm, "built", &b, &e); });
  then([&]() -> tfvm_status {
    const tfvm_ref p = tfvm_build_param(b, "f32[3]");
    const tfvm_ref ops[] = {p, tfvm_build_constant(b, &v)};
    const tfvm_ref r = tfvm_build_op(b, "mul", ops, 2, nullptr);
    return tfvm_builder_finish(b, &r, 1, &e);
  });
  then([&] { return tfvm_prepare_for(vm, "@built", &v, 1, &built, &e); });
  then([&] { return tfvm_call(c, built, one, 1, to, 1, &e); });
  then([&] { return tfvm_call_views(c, built, &v, 1, &v, 1, &e); });
  then([&] { return tfvm_value_copy(vm, &v, &x, &e); });
  then([&] { return tfvm_value_over(vm, &v, nullptr, nullptr, &over, &e); });
  then([&] { return tfvm_call_values(c, built, &over, 1, out, 1, &e); });
  then([&] { return tfvm_value_to_dlpack(x, &dl, &e); });
  then([&]() -> tfvm_status {
    const tfvm_status t = tfvm_value_from_dlpack(vm, dl, &back, &e);
    if (t != TFVM_OK) dl->deleter(dl);
    return t;
  });
  message = e.message;
  tfvm_builder_release(b);
  for (tfvm_value* p : {x, over, out[0], back}) tfvm_value_release(p);
  for (tfvm_function* p : {f, g, built}) tfvm_function_release(p);
  tfvm_context_release(c);
  tfvm_vm_release(vm);
  return s;
}

struct Ledger {
  long until_refused = -1;
  std::map<void*, std::size_t> live;
  bool wrong = false;
  static void* allocate(void* self, std::size_t bytes, std::size_t alignment) {
    auto& l = *static_cast<Ledger*>(self);
    if (l.until_refused == 0) return nullptr;
    if (l.until_refused > 0) --l.until_refused;
    void* p = std::aligned_alloc(alignment, bytes);
    l.live[p] = bytes;
    return p;
  }
  static void release(void* self, void* p, std::size_t bytes, std::size_t) {
    auto& l = *static_cast<Ledger*>(self);
    const auto it = l.live.find(p);
    if (it == l.live.end() || it->second != bytes) l.wrong = true;
    if (it != l.live.end()) l.live.erase(it);
    std::free(p);
  }
};

TEST(CApiMemory, TheHostsAllocatorRefusesAtEachPlace) {
  long places = 0;
  for (tfvm_status s = TFVM_MEMORY; s != TFVM_OK; ++places) {
    ASSERT_LT(places, 500);
    Ledger ledger;
    ledger.until_refused = places;
    const tfvm_allocator a{sizeof a, &ledger, &Ledger::allocate, &Ledger::release};
    tfvm_vm_options o = TFVM_VM_OPTIONS;
    o.allocator = &a;
    std::string message;
    s = scenario(&o, message);
    EXPECT_TRUE(s == TFVM_OK || s == TFVM_MEMORY) << places << ": " << tfvm_status_name(s) << " " << message;
    EXPECT_FALSE(ledger.wrong);
    EXPECT_TRUE(ledger.live.empty()) << places;
  }
  EXPECT_GT(places, 8);
}

TEST(CApiMemory, OperatorNewRefusesAtEachPlace) {
  std::string message;
  ASSERT_EQ(scenario(nullptr, message), TFVM_OK) << message;
  long place = 0, reached = 0;
  for (tfvm_status s = TFVM_MEMORY; s != TFVM_OK; place += 1 + place / 40) {
    message.clear();
    message.reserve(1000);
    refuse_after(place);
    s = scenario(nullptr, message);
    refuse_after(-1);
    ++reached;
    EXPECT_TRUE(s == TFVM_OK || s == TFVM_MEMORY) << place << ": " << tfvm_status_name(s) << " " << message;
  }
  EXPECT_GT(reached, 100);
}

}  // namespace
}  // namespace tfvm::testing
