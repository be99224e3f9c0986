// Updates in place: the order of steps, and what shares memory.
#include "vm/plan/updates.h"

#include "tests/vm/machine.h"
#include "vm/plan/update_report.h"
#include "vm/type_text.h"
#include "vm/vm.h"

namespace tfvm::testing {
namespace {

// The ops of a plan's kernel steps, in order.
std::vector<Op> kernel_ops(const Plan& plan) {
  std::vector<Op> out;
  for (const PlanStep& s : plan.steps)
    if (s.kind == StepKind::Kernel) out.push_back(plan.kernels[s.index].op);
  return out;
}

// Where operand 0 and the result of kernel step k are.
std::pair<Address, Address> operand_and_result(const Plan& plan, std::size_t k) {
  const KernelStep& s = plan.kernels[k];
  return {plan.places[s.places.begin], plan.places[s.places.begin + s.inputs]};
}

bool same(const Address& a, const Address& b) { return a.root == b.root && a.offset == b.offset; }

constexpr auto kUpdate = Op::dynamic_update_slice;

ValueId read_one(Builder& b, ValueId x, ValueId at) {
  return b.emit(Op::dynamic_slice, {x, at}, {{Key::sizes, Ints(Dimensions{1})}});
}

TEST(Updates, AChainOfUpdatesIsInTheResultsMemory) {
  Machine p;
  const FunctionId f = p.function({p.f32({8}), p.f32({1}), p.i64({})}, [](Builder& b, const auto& v) {
    const ValueId x = b.emit(kUpdate, {v[0], v[1], v[2]});
    const ValueId y = b.emit(kUpdate, {x, b.emit(Op::neg, {v[1]}), b.emit(Op::add, {v[2], v[2]})});
    return std::vector{b.emit(kUpdate, {y, v[1], b.emit(Op::mul, {v[2], v[2]})})};
  });
  const PlanRef plan = p.plan(f);
  ASSERT_EQ(plan->kernels.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_TRUE(same(operand_and_result(*plan, k).second, {plan->first_result(), 0})) << k;
  EXPECT_TRUE(may_share(*plan, 0, 0));
  EXPECT_EQ(p.run(f, {"f32[8] [0, 1, 2, 3, 4, 5, 6, 7]", "f32[1] [9]", "i64 3"}),
            (Texts{"f32[8] [0.0, 1.0, 2.0, 9.0, 4.0, 5.0, -9.0, 9.0]"}));
}

TEST(Updates, AnOldValueIsReadBeforeItsUpdate) {
  Machine p;
  const FunctionId f = p.function({p.f32({8}), p.f32({1}), p.i64({})}, [](Builder& b, const auto& v) {
    const ValueId x = b.emit(kUpdate, {v[0], v[1], v[2]});
    return std::vector{x, read_one(b, v[0], v[2])};
  });
  const PlanRef plan = p.plan(f);
  EXPECT_EQ(kernel_ops(*plan), (std::vector{Op::dynamic_slice, kUpdate}));
  EXPECT_TRUE(may_share(*plan, 0, 0));
  EXPECT_EQ(p.run(f, {"f32[8] [0, 1, 2, 3, 4, 5, 6, 7]", "f32[1] [9]", "i64 3"}),
            (Texts{"f32[8] [0.0, 1.0, 2.0, 9.0, 4.0, 5.0, 6.0, 7.0]", "f32[1] [3.0]"}));
}

TEST(Updates, AReaderThatNeedsTheNewValueStays) {
  Machine p;
  const FunctionId f = p.function({p.f32({8}), p.f32({1}), p.i64({})}, [](Builder& b, const auto& v) {
    const ValueId x = b.emit(kUpdate, {v[0], v[1], v[2]});
    const ValueId at =
        b.emit(Op::cast, {b.emit(Op::reduce_sum, {x}, {{Key::axes, Ints(Dimensions{0})}})}, {{Key::dtype, DType::I64}});
    return std::vector{x, read_one(b, v[0], at)};
  });
  EXPECT_FALSE(may_share(*p.plan(f), 0, 0));
  EXPECT_EQ(p.run(f, {"f32[8] [0, 0, 0, 3, 0, 0, 0, 0]", "f32[1] [2]", "i64 0"})[1], "f32[1] [0.0]");
}

TEST(Updates, TwoThatReadEachOthersArraysEnd) {
  Machine p;
  const FunctionId f = p.function({p.f32({8}), p.f32({8}), p.i64({})}, [](Builder& b, const auto& v) {
    const ValueId x = b.emit(kUpdate, {v[0], read_one(b, v[1], v[2]), v[2]});
    const ValueId y = b.emit(kUpdate, {v[1],
                                       b.emit(Op::slice, {v[0]},
                                              {{Key::start, Ints(Dimensions{1})},
                                               {Key::limit, Ints(Dimensions{2})},
                                               {Key::stride, Ints(Dimensions{1})}}),
                                       v[2]});
    const ValueId z = b.emit(kUpdate, {v[0],
                                       b.emit(Op::slice, {v[1]},
                                              {{Key::start, Ints(Dimensions{1})},
                                               {Key::limit, Ints(Dimensions{2})},
                                               {Key::stride, Ints(Dimensions{1})}}),
                                       v[2]});
    return std::vector{x, y, z};
  });
  EXPECT_EQ(p.run(f, {"f32[8] [0, 1, 2, 3, 4, 5, 6, 7]", "f32[8] [10, 11, 12, 13, 14, 15, 16, 17]", "i64 3"}),
            (Texts{"f32[8] [0.0, 1.0, 2.0, 13.0, 4.0, 5.0, 6.0, 7.0]",
                   "f32[8] [10.0, 11.0, 12.0, 1.0, 14.0, 15.0, 16.0, 17.0]",
                   "f32[8] [0.0, 1.0, 2.0, 11.0, 4.0, 5.0, 6.0, 7.0]"}));
}

TEST(Updates, FailuresKeepTheirOrder) {
  Machine p;
  const FunctionId f = p.function({p.f32({8}), p.f32({1}), p.i64({1}), p.i64({1})}, [](Builder& b, const auto& v) {
    const ValueId x = b.emit(Op::scatter_along, {v[0], v[2], v[1]}, {{Key::axis, std::int64_t{0}}});
    return std::vector{x, b.emit(Op::take_along, {v[0], v[3]}, {{Key::axis, std::int64_t{0}}})};
  });
  EXPECT_EQ(kernel_ops(*p.plan(f)), (std::vector{Op::scatter_along, Op::take_along}));
}

TEST(Updates, OneFailureAtOneIndexMayBeFoundByEither) {
  Machine p;
  const FunctionId f = p.function({p.f32({8}), p.f32({1}), p.i64({1})}, [](Builder& b, const auto& v) {
    const ValueId x = b.emit(Op::scatter_along, {v[0], v[2], v[1]}, {{Key::axis, std::int64_t{0}}});
    return std::vector{x, b.emit(Op::take_along, {v[0], v[2]}, {{Key::axis, std::int64_t{0}}})};
  });
  EXPECT_EQ(kernel_ops(*p.plan(f)), (std::vector{Op::take_along, Op::scatter_along}));
}

// What is said of each update, or why there is no plan.
std::vector<std::string> said_of(const std::string& program, const std::string& name, const std::string& args) {
  auto vm = VM::create();
  const Status s = (*vm)->load_text(program, "u.tfa");
  if (!s) return {s.error().message};
  const Result<std::vector<TypeId>> types = parse_types((*vm)->tables().types, args);
  const Result<Function> f = (*vm)->entry(name, *types);
  if (!f) return {std::to_string(f.error().loc.line) + ": " + f.error().message};
  std::vector<std::string> out;
  for (const UpdateEntry& e : updates_of((*vm)->tables(), *f->plan)) out.push_back(text(e));
  return out;
}

constexpr const char* kLoop = R"(func @loop(%x: f32[8], %i: i64[3], %u: f32[1]) {
  %c = scan (%c = %x; %k = %i) {
    %d = dynamic_update_slice %c, %u, %k {inplace=true}
    yield %d;
  }
  ret %c
}
func @old(%x: f32[8], %i: i64[3], %u: f32[1]) {
  %y = mul %x, 2.0
  %k = reshape %i {shape=[3]}
  %v = expand %u {shape=[3]}
  %d = scatter_along %y, %k, %v {inplace=true}
  %e = neg %y
  ret %d, %e
}
func @kept(%x: f32[8], %u: f32[1]) {
  %y = mul %x, 2.0
  %d = dynamic_update_slice %y, %u, 1 {inplace=true}
  ret %d, %y
}
func @input(%x: f32[8], %i: i64, %u: f32[1]) {
  %d = dynamic_update_slice %x, %u, %i {inplace=true}
  ret %d
}
)";

TEST(Updates, WhatIsInPlaceAndWhyNot) {
  EXPECT_EQ(said_of(kLoop, "loop", "f32[8], i64[3], f32[1]"),
            (Texts{"scan line 2: missed: the first value of its carry is an input; 32 bytes",
                   "dynamic_update_slice line 3: in place; 0 bytes"}));
  EXPECT_EQ(said_of(kLoop, "input", "f32[8], i64, f32[1]"),
            (Texts{"22: [dynamic_update_slice] {inplace=true}: its operand is an input, so 32 bytes would be copied"}));
  EXPECT_EQ(said_of(kLoop, "old", "f32[8], i64[3], f32[1]"), (Texts{"scatter_along line 12: in place; 0 bytes"}));
  EXPECT_EQ(
      said_of(kLoop, "kept", "f32[8], f32[1]"),
      (Texts{"18: [dynamic_update_slice] {inplace=true}: its operand is a result, too, so 32 bytes would be copied"}));
}

// Writes that are asked to be in place, made functional: those into a part are updates, one of the whole is none.
constexpr const char* kWrites = R"(func @place(%x: f32[4], %i: i64, %u: f32[1]) {
  %y = exp %x
  dynamic_update_slice_ %y, %u, %i {inplace=true}
  ret %y
}
func @indices(%x: f32[4], %i: i64[2], %u: f32[2]) {
  %y = exp %x
  index_put_ %y, %i, %u {accumulate=true, inplace=true}
  scatter_ %y, %i, %u {axis=0, inplace=true}
  %z = neg %x
  ret %y, %z
}
func @diagonal(%x: f32[4,4], %u: f32[4]) {
  %y = exp %x
  %d = diagonal %y
  copy_ %d, %u {inplace=true}
  ret %y
}
func @read(%x: f32[4], %i: i64, %u: f32[1]) {
  %y = exp %x
  %old = clone %y
  dynamic_update_slice_ %y, %u, %i {inplace=true}
  ret %y, %old
}
func @whole(%x: f32[4]) {
  %y = exp %x
  add_ %y, 1.0 {inplace=true}
  ret %y
}
func @row(mut %x: f32[4]) {
  %y = view %x {shape=[2, 2]}
  fill_ %y, 1.0 {inplace=true}
  ret
}
)";

TEST(Updates, WritesThatAreAskedToBeInPlace) {
  const auto said = [](const std::string& name, const std::string& args) {
    return said_of(kWrites, "functionalize(@" + name + ")", args);
  };
  EXPECT_EQ(said("place", "f32[4], i64, f32[1]"), (Texts{"dynamic_update_slice line 3: in place; 0 bytes"}));
  EXPECT_EQ(said("indices", "f32[4], i64[2], f32[2]"),
            (Texts{"scatter_along line 8: in place; 0 bytes", "scatter_along line 9: in place; 0 bytes"}));
  EXPECT_EQ(said("diagonal", "f32[4,4], f32[4]"), (Texts{"scatter_along line 16: in place; 0 bytes"}));
  EXPECT_EQ(
      said("read", "f32[4], i64, f32[1]"),
      (Texts{"22: [dynamic_update_slice] {inplace=true}: its operand is a result, too, so 16 bytes would be copied"}));
  EXPECT_EQ(said("whole", "f32[4]"), (Texts{"27: [add_] {inplace=true}: it writes the whole tensor, whose new value is "
                                            "a tensor of its own, so 16 bytes would be copied"}));
  EXPECT_EQ(said("row", "f32[4]"), (Texts{"32: [fill_] {inplace=true}: it writes the whole tensor, whose new value is "
                                          "a tensor of its own, so 16 bytes would be copied"}));
}

}  // namespace
}  // namespace tfvm::testing
