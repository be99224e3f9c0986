// What is said of a call's memory before it is made is what the call takes, to the byte.
#include "vm/memory_use.h"

#include <gtest/gtest.h>

#include "vm/print.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @scalar(%x: f32) {
  %y = sin %x
  ret %y
}
func @sorted(%x: f32[1000]) {
  %a = sort %x
  %l = reshape %a {shape=[10, 100]}
  %r = reshape %x {shape=[100, 10]}
  %b = matmul %l, %r
  %c = cumsum %a
  ret %a, %b, %c
}
func @scanned(%x: f64[33]) {
  %y, %z = scan (%c = %x;) {length=17} {
    %s = sort %c
    %d = add %s, 1
    yield %d; %s
  }
  ret %y, %z
}
func @nested(%x: f64[33]) {
  %p = reduce_sum %x
  %q = gt %p, 0
  %y = if %q {
    %a = sort %x
    %l = reshape %a {shape=[33, 1]}
    %r = reshape %x {shape=[1, 33]}
    %b = matmul %l, %r
    %s = reduce_sum %b {axes=[0]}
    yield %s
  } else {
    yield %x
  }
  ret %y
}
func @loss(%x: f64[33]) {
  %y = call @nested(%x)
  %s = sin %y
  %r = reduce_sum %s
  ret %r
}
)";

std::unique_ptr<VM> make_vm() {
  auto vm = VM::create();
  const Status s = (*vm)->load_text(kProgram, "a.tfa");
  EXPECT_TRUE(s) << s.error().message << " line " << s.error().loc.line;
  return *std::move(vm);
}

Tensor filled(VM& vm, TypeId type) {
  const Type t = vm.tables().types[type];
  Tensor x = *Tensor::make(nullptr, t.dtype, t.dims);
  for (std::int64_t k = 0; k < x.elements(); ++k)
    t.dtype == DType::F64 ? x.as<double>()[k] = static_cast<double>(k * 7 % 31)
                          : x.as<float>()[k] = static_cast<float>(k * 7 % 31);
  return x;
}

struct Used {
  const char* callee;
  const char* typed = callee;  // whose parameters have the same types, all written in full
};

void PrintTo(const Used& u, std::ostream* out) { *out << u.callee; }

class MemoryUse : public ::testing::TestWithParam<Used> {};

TEST_P(MemoryUse, OfACallIsExact) {
  for (const std::int64_t less : {0, 1}) {
    const auto vm = make_vm();
    const auto types = vm->fixed_types(GetParam().typed);
    ASSERT_TRUE(types) << types.error().message;
    const auto f = vm->entry(GetParam().callee, *types);
    ASSERT_TRUE(f) << f.error().message;
    const std::vector<Tensor> in{filled(*vm, types->front())};
    const CallBytes b = call_bytes(*f);
    EXPECT_FALSE(b.grows);
    const std::int64_t before = vm->budget()->used();
    vm->budget()->set_limit(before + b.working + b.outputs + b.kept - less);
    Context context(vm->budget());
    const auto out = vm->call(context, *f, std::span<const Tensor>(in));
    ASSERT_EQ(static_cast<bool>(out), less == 0);
    if (less) {
      EXPECT_EQ(out.error().code, Code::Memory);
      continue;
    }
    EXPECT_EQ(vm->budget()->used(), before + b.working + b.outputs + b.kept);
    EXPECT_EQ(vm->budget()->peak(), before + b.working + b.outputs + b.kept);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MemoryUse,
    ::testing::Values(Used{"@scalar"}, Used{"@sorted"}, Used{"@scanned"}, Used{"@nested"}, Used{"grad(@loss)"},
                      Used{"vmap(@scalar, axis_size=1000, in_dims=[none], out_dims=[none])", "@scalar"},
                      Used{"fwd(@loss)"}),
    [](const auto& given) { return "n" + std::to_string(given.index); });

TEST(MemoryUse, OfAPackIsWhatGoesWithIt) {
  const auto vm = make_vm();
  const auto types = vm->fixed_types("@loss");
  const auto f = vm->entry("fwd(@loss)", *types);
  ASSERT_TRUE(f) << f.error().message;
  const std::vector<Value> in{{types->front(), {filled(*vm, types->front())}, {}}};
  auto context = std::make_unique<Context>(vm->budget());
  const std::int64_t before = vm->budget()->used();
  auto out = vm->call(*context, *f, in);
  ASSERT_TRUE(out) << out.error().message;
  context.reset();
  EXPECT_EQ(value_bytes(*vm, *out), vm->budget()->used() - before);
  const std::int64_t first = value_bytes(*vm, std::span(*out).first(1)),
                     pack = value_bytes(*vm, std::span(*out).last(1));
  out->pop_back();
  EXPECT_EQ(vm->budget()->used() - before, first);
  EXPECT_GT(pack, 0);
  out->clear();
  EXPECT_EQ(vm->budget()->used(), before);
}

TEST(MemoryUse, LoopsOverTapesGrow) {
  auto vm = *VM::create();
  const Status s = vm->load_text(R"(func @f(%x: f64) {
  %i, %y = while (%i = 0, %y = %x) {
    %p = lt %i, 10
    yield %p
  } do {
    %j = add %i, 1
    %z = sin %y
    yield %j, %z
  }
  ret %y
})",
                                 "a.tfa");
  ASSERT_TRUE(s) << s.error().message;
  const auto types = vm->fixed_types("@f");
  EXPECT_FALSE(call_bytes(*vm->entry("@f", *types)).grows);
  EXPECT_TRUE(call_bytes(*vm->entry("grad(@f)", *types)).grows);
}

}  // namespace
}  // namespace tfvm
