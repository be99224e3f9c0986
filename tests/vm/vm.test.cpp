#include "vm/vm.h"

#include <gtest/gtest.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "vm/npy/npy.h"
#include "vm/print.h"

namespace tfvm {
namespace {

std::vector<std::byte> bytes_of(std::string_view s) {
  const auto* p = reinterpret_cast<const std::byte*>(s.data());
  return {p, p + s.size()};
}

std::unique_ptr<VM> make_vm() {
  auto vm = VM::create();
  EXPECT_TRUE(vm) << vm.error().message;
  return vm ? *std::move(vm) : nullptr;
}

std::string run(VM& vm, std::string_view name, const std::vector<std::string>& args) {
  std::vector<Value> in;
  std::vector<TypeId> types;
  for (const std::string& s : args) {
    in.push_back(vm.value(*parse_tensor(s)));
    types.push_back(in.back().type);
  }
  const auto f = vm.entry(name, types);
  if (!f) return f.error().message;
  Context context(vm.budget());
  const auto out = vm.call(context, *f, in);
  if (!out) return std::to_string(out.error().loc.line) + ": " + out.error().message;
  std::string text;
  for (const Value& v : *out) text += (text.empty() ? "" : "; ") + print(v.tensor());
  return text;
}

TEST(Vm, RunsText) {
  const auto vm = make_vm();
  const Status s = vm->load_text(R"(
func @square(%x: f32[n]) {
  %y = mul %x, %x
  ret %y
}
func @main(%x: f32[n]) {
  %y = call @square(%x)
  %s = reduce_sum %y
  ret %y, %s
}
)",
                                 "a.tfa");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(run(*vm, "main", {"f32[3] [1.0, 2.0, 3.0]"}), "f32[3] [1.0, 4.0, 9.0]; f32 14.0");
  EXPECT_EQ(run(*vm, "main", {"f32[2] [3.0, 4.0]"}), "f32[2] [9.0, 16.0]; f32 25.0");
}

// The carry is reduced and replaced in one nest: it must not be replaced before it is read.
TEST(Vm, CarryReadByAReduction) {
  const auto vm = make_vm();
  const Status s = vm->load_text(R"(
func @step(%c: f64[2], %x: f64) {
  %n = mul %c, %x
  %s = reduce_sum %c
  ret %n, %s
}
func @main(%c: f64[2], %x: f64[n]) {
  %r, %y = scan @step (%c, %x) {carry=1, length=n}
  ret %r, %y
}
)",
                                 "a.tfa");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(run(*vm, "main", {"f64[2] [1, 2]", "f64[3] [2, 3, 4]"}), "f64[2] [24.0, 48.0]; f64[3] [3.0, 6.0, 18.0]");
}

TEST(Vm, RunsBinary) {
  StringTable strings;
  const auto m = parse_module(strings, "func @main(%x: f32[2]) { %y = neg %x\n ret %y }\n", "a.tfa");
  ASSERT_TRUE(m);
  const auto vm = make_vm();
  ASSERT_TRUE(vm->load_binary(write_tfbc(*m, strings), "a.tfbc"));
  EXPECT_EQ(run(*vm, "main", {"f32[2] [1.0, 2.0]"}), "f32[2] [-1.0, -2.0]");
  const std::vector<std::byte> broken(100);
  EXPECT_FALSE(make_vm()->load_binary(broken, "b.tfbc"));
}

TEST(Vm, TransformsOfText) {
  const auto vm = make_vm();
  const Status s = vm->load_text(R"(
func @loss(%w: f64[3], %x: f64[3], %y: f64) {
  %a = mul %w, %x
  %p = reduce_sum %a
  %d = sub %p, %y
  %l = mul %d, %d
  ret %l
}
func @per_sample = vmap(grad(@loss, argnums=[0]), in_dims=[none, 0, 0], out_dims=[0])
)",
                                 "a.tfa");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(run(*vm, "per_sample",
                {"f64[3] [1.0, 2.0, 3.0]", "f64[2,3] [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]", "f64[2] [0.0, 0.0]"}),
            "f64[2,3] [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]");
  EXPECT_EQ(run(*vm, "grad(@loss, argnums=[2])", {"f64[3] [1.0, 2.0, 3.0]", "f64[3] [1.0, 0.0, 0.0]", "f64 0.0"}),
            "f64 -2.0");
}

TEST(Vm, GlobalsHaveFirstValues) {
  const auto vm = make_vm();
  const FileLoader files = [](const std::string& path) -> Result<std::vector<std::byte>> {
    if (path == "w.npy") return to_npy(*parse_tensor("f32[2] [5.0, 6.0]"));
    if (path == "b.tfa") return bytes_of("func @twice(%x: f32[n]) { %y = add %x, %x\n ret %y }\n");
    return Error(Code::Io, "there is no file '" + path + "'");
  };
  const Status s = vm->load_text(R"(
import "b.tfa"
param @w: f32[2] = file "w.npy"
param @c: f32[2] = [1, 2]
buffer @z: f32[2]
param @t: f32[2] = call @twice(@c)
func @main() {
  %a = add @w, @c
  %b = add %a, @z
  %d = add %b, @t
  ret %d
}
)",
                                 "a.tfa", files);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(run(*vm, "main", {}), "f32[2] [8.0, 12.0]");
}

TEST(Vm, FailuresNameTheLine) {
  const auto vm = make_vm();
  const Status s = vm->load_text(R"(
func @main(%x: f32[n], %i: i64) {
  %y = take %x, %i
  ret %y
}
)",
                                 "a.tfa");
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(run(*vm, "main", {"f32[3] [1.0, 2.0, 3.0]", "2"}), "f32 3.0");
  EXPECT_EQ(run(*vm, "main", {"f32[3] [1.0, 2.0, 3.0]", "7"}),
            "3: [take] index 7 is out of range for an extent of 3 (element 0 of the indices)");
}

}  // namespace
}  // namespace tfvm
