#include "vm/context.h"

#include <thread>

#include <immintrin.h>

#include "tests/vm/machine.h"

namespace tfvm::testing {
namespace {

FunctionId add_reversed(Machine& p) {
  return p.function({p.f32({4}), p.f32({4})}, [](Builder& b, const auto& v) {
    const ValueId r = b.emit(Op::reverse, {v[0]}, {{Key::axes, Ints(Dimensions{0})}});
    return std::vector{b.emit(Op::add, {r, v[1]})};
  });
}

Tensor over(std::vector<float>& v, Layout layout) { return Tensor::over(v.data(), DType::F32, std::move(layout)); }

TEST(Context, InputsWithAnyStrides) {
  Machine p;
  const FunctionId f = add_reversed(p);
  std::vector<float> a{1, 0, 2, 0, 3, 0, 4, 0}, b{10};
  const Tensor every_second = over(a, Layout{{4}, {2}, 0});
  const Tensor same = over(b, Layout{{4}, {0}, 0});
  EXPECT_EQ(p.run_on(f, std::vector{every_second, same}), (Texts{"f32[4] [14.0, 13.0, 12.0, 11.0]"}));
}

TEST(Context, OutputsOfTheCallerMayOverlapInputs) {
  Machine p;
  const PlanRef plan = p.plan(add_reversed(p));
  std::vector<float> a{1, 2, 3, 4, 5}, b{10, 20, 30, 40};
  const Tensor in[] = {over(a, Layout{{4}, {1}, 0}), over(b, Layout{{4}, {1}, 0})};
  const Tensor shifted = over(a, Layout{{4}, {1}, 1});
  ASSERT_TRUE(p.context.call(*plan, in, std::span(&shifted, 1)));
  EXPECT_EQ(a, (std::vector<float>{1, 14, 23, 32, 41}));
  const Tensor backwards = over(b, Layout{{4}, {-1}, 3});
  a = {1, 2, 3, 4, 5};
  ASSERT_TRUE(p.context.call(*plan, in, std::span(&backwards, 1)));
  EXPECT_EQ(b, (std::vector<float>{41, 32, 23, 14}));
}

TEST(Context, WrongInputsAreTypeErrors) {
  Machine p;
  const FunctionId f = add_reversed(p);
  EXPECT_EQ(p.run(f, {"[1.0, 2.0, 3.0, 4.0]"}), (Texts{"type: 2 inputs expected, 1 given"}));
  EXPECT_EQ(p.run(f, {"[1, 2, 3, 4]", "[1.0, 2.0, 3.0, 4.0]"}), (Texts{"type: input 0 must be f32[4], not i64[4]"}));
}

TEST(Context, AssertsNameTheirMessageAndOrigin) {
  Machine p;
  const FunctionId f = p.function({p.boolean({2}), p.f32()}, [](Builder& b, const auto& v) {
    b.set_loc({b.tables().strings.intern("a.tfa"), 3, 1});
    b.emit(Op::assert_, {v[0]}, {{Key::message, "both"}});
    return std::vector{b.emit(Op::neg, {v[1]})};
  });
  EXPECT_EQ(p.run(f, {"[true, true]", "1.5"}), (Texts{"f32 -1.5"}));
  EXPECT_EQ(p.run(f, {"[true, false]", "1.5"}), (Texts{"assert: assert failed: both"}));
  const StepOrigin o = p.context.failed_at();
  EXPECT_EQ(p.t.debugs.find_loc(o.debug, o.instr).line, 3u);
}

TEST(Context, FailedIndices) {
  Machine p;
  const FunctionId f = p.function({p.f32({3}), p.i64({2})}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::take, {v[0], v[1]})};
  });
  EXPECT_EQ(p.run(f, {"[1.0, 2.0, 3.0]", "[-1, 0]"}), (Texts{"f32[2] [3.0, 1.0]"}));
  EXPECT_EQ(p.run(f, {"[1.0, 2.0, 3.0]", "[0, 3]"}),
            (Texts{"index: [take] index 3 is out of range for an extent of 3 (element 1 of the indices)"}));
}

FunctionId endless(Machine& p) {
  const FunctionId cond = p.function({p.i64()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::ge, {v[0], b.scalar_int(DType::I64, 0)})};
  });
  const FunctionId body = p.function({p.i64()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::xor_, {v[0], b.scalar_int(DType::I64, 1)})};
  });
  return p.function({p.i64()}, [&](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::while_, {v[0]}, {{Key::cond, cond}, {Key::body, body}})};
  });
}

TEST(Context, LimitsEndAnEndlessLoop) {
  Machine p;
  const FunctionId f = endless(p);
  p.context.limits.steps = 10'000;
  EXPECT_EQ(p.run(f, {"1"}), (Texts{"limit: the limit of 10000 steps is reached"}));
  p.context.limits = {};
  p.context.limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(p.run(f, {"1"}), (Texts{"limit: the deadline has passed"}));
  p.context.limits = {};
  std::atomic<bool> cancel = false;
  p.context.limits.cancel = &cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cancel = true;
  });
  EXPECT_EQ(p.run(f, {"1"}), (Texts{"cancelled: the call was cancelled"}));
  other.join();
}

TEST(Context, MemoryLimitIsAStatus) {
  Machine p;
  p.context.budget()->set_limit(100'000);
  const FunctionId f = p.function({p.f32()}, [&](Builder& b, const auto& v) {
    const ValueId wide = b.emit(Op::broadcast_to, {v[0]}, {{Key::shape, Ints(Dimensions{100'000})}});
    return std::vector{b.emit(Op::neg, {wide})};
  });
  const auto out = p.context.call(*p.plan(f), std::vector{*parse_tensor("1.0")});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Memory);
  EXPECT_LT(p.context.budget()->used(), 100'000);
}

TEST(Context, TheHostsFloatModeStays) {
  Machine p;
  const FunctionId f = p.function({p.f32()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::mul, {v[0], b.scalar(DType::F32, 0.5)})};
  });
  p.plan(f);
  const std::vector in{*parse_tensor("f32 1e-38")};
  const unsigned before = _mm_getcsr(), host = 0x1f80u | 0x8040u | 0x6000u;  // flush, denormals are zero, truncate
  _mm_setcsr(host);
  const auto out = p.context.call(*p.plan(f), in);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, host);
  ASSERT_TRUE(out);
  EXPECT_EQ(print(out->front()), "f32 5e-39");
}

TEST(Context, PrintGoesToTheSink) {
  Machine p;
  const FunctionId f = p.function({p.f32({2})}, [](Builder& b, const auto& v) {
    b.emit(Op::print_, {b.emit(Op::neg, {v[0]})}, {{Key::label, "x"}});
    return std::vector{v[0]};
  });
  std::string seen;
  p.context.sink = {[](void* user, std::string_view label, const Tensor& t) {
                      *static_cast<std::string*>(user) += std::string(label) + " = " + print(t) + "\n";
                    },
                    &seen};
  p.run(f, {"[1.0, 2.0]"});
  EXPECT_EQ(seen, "x = f32[2] [-1.0, -2.0]\n");
}

}  // namespace
}  // namespace tfvm::testing
