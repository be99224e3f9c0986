// Calls with a NaN trap, on the caller's memory.
#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

// Line 4 makes nan of what is negative; a select may hide it.
constexpr std::string_view kProgram =
    "func @safe(%x: f32[4]) -> f32[4] {\n"
    "  %zero = full 0.0 {shape=[4]}\n"
    "  %ok = gt %x, %zero\n"
    "  %l = log %x\n"
    "  %y = select %ok, %l, %zero\n"
    "  ret %y\n"
    "}\n"
    "func @bare(%x: f32[4]) -> f32[4] {\n"
    "  %l = log %x\n"
    "  ret %l\n"
    "}\n";

tfvm_vm_options with(std::uint64_t flags) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.flags = flags;
  return o;
}

TEST(CapiTrap, NamesWhatASelectHides) {
  const tfvm_vm_options all = with(TFVM_NAN_TRAP), live = with(TFVM_NAN_TRAP_LIVE);
  Host a(kProgram, &all), l(kProgram, &live), off(kProgram);
  std::vector<float> good{1, 2, 3, 4}, bad{1, -2, 3, 4}, y(4), z(4);
  EXPECT_EQ(a.call(a.prepare("@safe"), {good.data()}, {y.data()}), TFVM_OK) << a.error();
  EXPECT_EQ(off.call(off.prepare("@safe"), {good.data()}, {z.data()}), TFVM_OK) << off.error();
  EXPECT_EQ(y, z);
  EXPECT_EQ(a.call(a.prepare("@safe"), {bad.data()}, {y.data()}), TFVM_ASSERT);
  EXPECT_EQ(a.e.line, 4) << a.error();
  EXPECT_EQ(l.call(l.prepare("@safe"), {bad.data()}, {y.data()}), TFVM_OK) << l.error();
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(l.call(l.prepare("@bare"), {bad.data()}, {y.data()}), TFVM_ASSERT);
  EXPECT_EQ(l.e.line, 9) << l.error();
}

TEST(CapiTrap, InPlaceBoundAndInSlices) {
  const tfvm_vm_options all = with(TFVM_NAN_TRAP);
  Host h(kProgram, &all);
  tfvm_function* f = h.prepare("@bare");
  std::vector<float> good{1, 1, 1, 1}, bad{1, -2, 3, 4}, y(4, 7);
  EXPECT_EQ(h.call(f, {good.data()}, {good.data()}), TFVM_OK) << h.error();
  EXPECT_EQ(good, std::vector<float>(4, 0));
  EXPECT_EQ(h.call(f, {bad.data()}, {bad.data()}), TFVM_ASSERT);
  EXPECT_EQ(h.e.line, 9) << h.error();
  bad = {1, -2, 3, 4};
  const void* in[] = {bad.data()};
  void* out[] = {y.data()};
  tfvm_bound* bound = nullptr;
  ASSERT_EQ(tfvm_bind(h.context, f, in, 1, out, 1, &bound, &h.e), TFVM_OK) << h.error();
  EXPECT_EQ(tfvm_call_bound(bound, &h.e), TFVM_ASSERT);
  EXPECT_EQ(h.e.line, 9) << h.error();
  tfvm_bound_release(bound);
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 1, out, 1, 1'000'000, &h.e), TFVM_ASSERT);
  EXPECT_EQ(h.e.line, 9) << h.error();
}

}  // namespace
}  // namespace tfvm::testing
