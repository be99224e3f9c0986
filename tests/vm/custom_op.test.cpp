// Custom ops of the host: called on the program's own tensors.
#include "vm/custom_op.h"

#include <gtest/gtest.h>

#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

struct Host {
  std::unique_ptr<VM> vm = *VM::create();
  Context context{vm->budget()};

  explicit Host(std::string_view program) {
    add("two", [](auto args, auto) {  // a *= 10, then b += 1
      each(*args[0], [](float& x) { x *= 10; });
      each(*args[1], [](float& x) { x += 1; });
    });
    add("inc", [](auto args, auto) { each(*args[0], [](float& x) { x += 1; }); });
    add("rev", [](auto args, auto) {
      const std::int64_t n = args[0]->elements();
      for (std::int64_t k = 0; k < n; ++k) args[1]->template as<float>()[n - 1 - k] = args[0]->template as<float>()[k];
    });
    add("sum", [](auto args, auto results) {
      float sum = 0;
      for (const CustomArg& arg : args)
        for (const Tensor& t : arg.tensors) each(t, [&](float& x) { sum += x; });
      *results[0].template as<float>() = sum;
    });
    const Status s = vm->load_text(program, "custom.tfa");
    EXPECT_TRUE(s) << s.error().message;
  }

  template <class F>
  static void each(const Tensor& t, const F& f) {
    for (std::int64_t k = 0; k < t.elements(); ++k) f(t.as<float>()[k]);
  }
  template <class F>
  void add(const std::string& name, const F& f, bool strided = false) {
    CustomOp op;
    op.strided = strided;
    op.kernel = [f](std::span<const CustomArg> args, std::span<const Tensor> results) -> Status {
      f(args, results);
      return ok();
    };
    vm->register_op(name, std::move(op));
  }

  std::string call(const std::string& function, const std::vector<Tensor>& in) {
    std::vector<TypeId> types;
    for (const Tensor& t : in) types.push_back(vm->type_of(t));
    const Result<Function> f = vm->entry(function, types);
    if (!f) return f.error().message;
    const auto out = vm->call(context, *f, in);
    if (!out) return std::to_string(out.error().loc.line) + ": " + out.error().message;
    std::string s;
    for (const Tensor& t : *out) s += (s.empty() ? "" : " ") + print(t);
    return s;
  }
};

constexpr std::string_view kSum = R"(
extern op "sum"(%xs: f32[..], %k: f32) -> f32 {lists=["xs"]}
func @three(%x: f32[..], %y: f32[..]) {
  %r = sum %x, %y, %x, 0.5
  ret %r
}
func @none(%x: f32[..]) {
  %r = sum %x, (none)
  ret %r
}
func @many(%x: f32[..]) {
  %y = mul %x, 2.0
  %c = scan (%c = 0.0; %row = %y) {
    %s = sum %row, %c
    yield %s;
  }
  %r = if true {
    %t = sum %x, %c
    yield %t
  } else {
    yield %c
  }
  ret %x, %r
}
)";

TEST(CustomOp, ListsNoneAndControlFlow) {
  Host host(kSum);
  const Tensor x = *parse_tensor("f32[2] [1, 2]"), y = *parse_tensor("f32[3] [10, 20, 30]"),
               z = *parse_tensor("f32[2,2] [[1, 2], [3, 4]]");
  EXPECT_EQ(host.call("three", {x, y}), "f32 66.5");
  EXPECT_EQ(host.call("none", {x}), "f32 3.0");
  EXPECT_EQ(host.call("none", {x.with_layout(Layout{{3}, {0}, 1})}), "f32 6.0");
  EXPECT_EQ(host.call("many", {z}), "f32[2,2] [[1.0, 2.0], [3.0, 4.0]] f32 30.0");
  EXPECT_EQ(host.call("vmap(@none)", {z}), "f32[2] [3.0, 7.0]");
}

TEST(CustomOp, WhatIsWrongWithACall) {
  Host host(R"(
extern op "sum"(%xs: f32[n], %k: f32[n]) -> f32 {lists=["xs"]}
extern op "gone"(%x: f32[..b]) -> f32[..b]
extern op "open"(%x: f32) -> f32[n]
func @a(%x: f32[..]) {
  %r = sum %x, %x, 0.5
  ret %r
}
func @b(%x: f32[..]) {
  %r = gone %x
  ret %r
}
func @c(%x: f32[..]) {
  %r = gone %x, %x
  ret %r
}
func @d(%x: f32) {
  %r = open %x
  ret %r
}
)");
  const Tensor x = *parse_tensor("f32[2] [1, 2]");
  EXPECT_EQ(host.call("a", {x}), "[sum] operand 'k': expected f32[n] with n = 2, got f32");
  EXPECT_EQ(host.call("b", {x}), "[gone] is declared, but the host has registered no kernel for it");
  EXPECT_EQ(host.call("c", {x}), "[gone] takes 1 arguments, got 2 operands");
  EXPECT_EQ(host.call("d", {*parse_tensor("1.0")}), "[open] its operands don't tell the size of f32[n]");
}

TEST(CustomOp, AShapeFunctionOfTheHostGivesResultTypes) {
  Host host(R"(
extern op "open"(%x: f32[k]) -> f32[n]
func @d(%x: f32[..]) {
  %r = open %x
  ret %r
}
)");
  CustomOp op;
  op.shape = [](std::span<const CustomArgType> args) -> Result<std::vector<TensorType>> {
    return std::vector{TensorType{args[0][0].dtype, {args[0][0].dims[0] + 1}}};
  };
  op.kernel = [](std::span<const CustomArg>, std::span<const Tensor> results) -> Status {
    Host::each(results[0], [](float& x) { x = 7; });
    return ok();
  };
  host.vm->register_op("open", std::move(op));
  EXPECT_EQ(host.call("d", {*parse_tensor("f32[2] [1, 2]")}), "f32[3] [7.0, 7.0, 7.0]");
}

TEST(CustomOp, AnErrorOfTheKernelIsTheCalls) {
  Host host(R"(
extern op "bad"(%x: f32) -> f32
func @f(%x: f32) {
  %r = bad %x
  ret %r
}
)");
  CustomOp op;
  op.kernel = [](std::span<const CustomArg>, std::span<const Tensor>) -> Status { return Error(Code::Assert, "no"); };
  host.vm->register_op("bad", std::move(op));
  EXPECT_EQ(host.call("f", {*parse_tensor("1.0")}), "4: no");
}

constexpr std::string_view kMutating = R"(
extern op "two"(mut %a: f32[..], mut %b: f32[..])
extern op "inc"(mut %z: f32[..])
extern op "rev"(%src: f32[n], mut %dst: f32[n])
func @reversed(mut %x: f32[8]) {
  %y = clone %x
  rev %y, %x
  %r = mul %x, 2.0
  ret %r
}
func @overlapping(mut %t: f32[4]) {
  %a = narrow %t {axis=0, start=0, length=3}
  %b = narrow %t {axis=0, start=1, length=3}
  two %a, %b
  ret %a, %b
}
func @offset(mut %base: f32[6]) {
  %z = narrow %base {axis=0, start=3, length=3}
  inc %z
  ret
}
func @column(mut %x: f32[2,2]) {
  %c = select %x {axis=1, index=1}
  inc %c
  ret
}
func @wide(mut %x: f32[1]) {
  %v = expand %x {shape=[3]}
  inc %v
  ret
}
func @not_mut(%x: f32[1]) {
  inc %x
  ret
}
)";

// R18: copies and overlapping arguments of ops that write.
TEST(CustomOp, WritesIntoTheProgramsTensors) {
  Host host(kMutating);
  const Tensor x = *parse_tensor("f32[8] [0, 1, 2, 3, 4, 5, 6, 7]");
  EXPECT_EQ(host.call("reversed", {x}), "f32[8] [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0, 0.0]");
  EXPECT_EQ(print(x), "f32[8] [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]");
  const Tensor t = *parse_tensor("f32[4] [1, 2, 3, 4]");
  EXPECT_EQ(host.call("overlapping", {t}), "f32[3] [10.0, 21.0, 31.0] f32[3] [21.0, 31.0, 5.0]");
  EXPECT_EQ(print(t), "f32[4] [10.0, 21.0, 31.0, 5.0]");
  const Tensor base = *parse_tensor("f32[6] [0, 1, 2, 3, 4, 5]");
  EXPECT_EQ(host.call("offset", {base}), "");
  EXPECT_EQ(print(base), "f32[6] [0.0, 1.0, 2.0, 4.0, 5.0, 6.0]");
}

TEST(CustomOp, WhatTheKernelCantStrideGoesThroughATemporary) {
  Host host(kMutating);
  const Tensor x = *parse_tensor("f32[2,2] [[1, 2], [3, 4]]");
  EXPECT_EQ(host.call("column", {x}), "");
  EXPECT_EQ(print(x), "f32[2,2] [[1.0, 3.0], [3.0, 5.0]]");
  std::int64_t stride = 0;
  Host other(kMutating);
  other.add(
      "inc", [&](auto args, auto) { stride = args[0]->layout().strides[0]; }, true);
  EXPECT_EQ(other.call("column", {x}), "");
  EXPECT_EQ(stride, 2);
}

TEST(CustomOp, RefusedWrites) {
  Host host(kMutating);
  const Tensor x = *parse_tensor("f32[1] [1]");
  EXPECT_NE(host.call("wide", {x}).find("can't write into an expanded or overlapping view"), std::string::npos);
  EXPECT_NE(host.call("not_mut", {x}).find("mut"), std::string::npos);
  EXPECT_EQ(print(x), "f32[1] [1.0]");
}

TEST(CustomOp, FunctionalizedGivesTheSame) {
  Host host(kMutating);
  EXPECT_EQ(host.call("functionalize(@reversed)", {*parse_tensor("f32[8] [0, 1, 2, 3, 4, 5, 6, 7]")}),
            "f32[8] [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0, 0.0] f32[8] [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]");
  EXPECT_EQ(host.call("functionalize(@overlapping)", {*parse_tensor("f32[4] [1, 2, 3, 4]")}),
            "f32[3] [10.0, 21.0, 31.0] f32[3] [21.0, 31.0, 5.0] f32[4] [10.0, 21.0, 31.0, 5.0]");
  EXPECT_EQ(host.call("functionalize(@offset)", {*parse_tensor("f32[6] [0, 1, 2, 3, 4, 5]")}),
            "f32[6] [0.0, 1.0, 2.0, 4.0, 5.0, 6.0]");
}

}  // namespace
}  // namespace tfvm
