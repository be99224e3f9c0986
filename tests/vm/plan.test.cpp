#include "vm/plan/plan.h"

#include <numeric>

#include "tests/vm/machine.h"

namespace tfvm::testing {
namespace {

TEST(Plan, ElementwiseReduceAndCall) {
  Machine p;
  const FunctionId square = p.function({p.f32({2, 3})}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::mul, {v[0], v[0]})};
  });
  const FunctionId f = p.function({p.f32({2, 3}), p.f32({3})}, [&](Builder& b, const auto& v) {
    const ValueId x = b.emit(Op::add, {v[0], v[1]});
    const ValueId s = b.emit(Op::call, {x}, {{Key::callee, square}});
    return std::vector{b.emit(Op::reduce_sum, {s}, {{Key::axes, Ints(Dimensions{1})}})};
  });
  EXPECT_EQ(p.run(f, {"f32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]", "f32[3] [1.0, 0.0, -1.0]"}),
            (Texts{"f32[2] [12.0, 75.0]"}));
}

TEST(Plan, SmallCallsAreInlinedAndFused) {
  Machine p;
  const FunctionId g =
      p.function({p.f32({4})}, [](Builder& b, const auto& v) { return std::vector{b.emit(Op::sin, {v[0]})}; });
  const FunctionId f = p.function({p.f32({4})}, [&](Builder& b, const auto& v) {
    const ValueId x = b.emit(Op::call, {v[0]}, {{Key::callee, g}});
    return std::vector{b.emit(Op::mul, {x, v[0]})};
  });
  EXPECT_EQ(p.plan(f)->steps.size(), 1u);
}

// A chain of one product that starts at 0: -0 comes out as 0.
TEST(Plan, AProductOverExtentsOfOneIsElementwise) {
  Machine p;
  const std::int64_t second[] = {1}, first[] = {0};
  const FunctionId f = p.function({p.f32({3, 1}), p.f32({1, 2}), p.f32({3, 2})}, [&](Builder& b, const auto& v) {
    const std::vector<AttrId> axes{b.tables().attrs.ints(second), b.tables().attrs.ints(first)};
    const ValueId d = b.emit(Op::dot_general, {v[0], v[1]}, {{Key::contract, b.tables().attrs.list(axes)}});
    return std::vector{b.emit(Op::add, {d, v[2]})};
  });
  EXPECT_EQ(p.plan(f)->steps.size(), 1u);
  EXPECT_EQ(p.run(f, {"f32[3,1] [[1.0], [-0.0], [3.0]]", "f32[1,2] [[10.0, 0.5]]",
                      "f32[3,2] [[1.0, 2.0], [-0.0, -0.0], [5.0, 6.0]]"}),
            (Texts{"f32[3,2] [[11.0, 2.5], [0.0, 0.0], [35.0, 7.5]]"}));
}

TEST(Plan, ViewsCostNoStep) {
  Machine p;
  const FunctionId f = p.function({p.f32({2, 3, 4})}, [](Builder& b, const auto& v) {
    const ValueId t = b.emit(Op::transpose, {v[0]}, {{Key::perm, Ints(Dimensions{2, 0, 1})}});
    const ValueId s = b.emit(Op::slice, {t},
                             {{Key::start, Ints(Dimensions{1, 0, 0})},
                              {Key::limit, Ints(Dimensions{4, 2, 3})},
                              {Key::stride, Ints(Dimensions{2, 1, 1})}});
    const ValueId r = b.emit(Op::reverse, {s}, {{Key::axes, Ints(Dimensions{0})}});
    return std::vector{b.emit(Op::neg, {r})};
  });
  EXPECT_EQ(p.plan(f)->steps.size(), 1u);
  std::vector<float> x(24);
  std::iota(x.begin(), x.end(), 0.f);
  auto in = Tensor::make({}, DType::F32, Dimensions{2, 3, 4}, std::as_bytes(std::span(x)));
  EXPECT_EQ(
      p.run_on(f, std::vector{*in}),
      (Texts{
          "f32[2,2,3] [[[-3.0, -7.0, -11.0], [-15.0, -19.0, -23.0]], [[-1.0, -5.0, -9.0], [-13.0, -17.0, -21.0]]]"}));
}

TEST(Plan, ReshapeOfATransposedValueCopies) {
  Machine p;
  const FunctionId f = p.function({p.i64({2, 3})}, [](Builder& b, const auto& v) {
    const ValueId t = b.emit(Op::transpose, {v[0]}, {{Key::perm, Ints(Dimensions{1, 0})}});
    const ValueId r = b.emit(Op::reshape, {t}, {{Key::shape, Ints(Dimensions{6})}});
    return std::vector{r, b.emit(Op::add, {r, r})};
  });
  EXPECT_EQ(p.run(f, {"[[1, 2, 3], [4, 5, 6]]"}), (Texts{"i64[6] [1, 4, 2, 5, 3, 6]", "i64[6] [2, 8, 4, 10, 6, 12]"}));
}

TEST(Plan, ResultsMayBeParametersConstantsAndDuplicates) {
  Machine p;
  const FunctionId f = p.function({p.f32({2}), p.f32({2})}, [&](Builder& b, const auto& v) {
    const ValueId s = b.emit(Op::add, {v[0], v[1]});
    const ValueId c = b.scalar(DType::F32, 7);
    const ValueId splat = b.splat(p.f32({3}), 2);
    return std::vector{v[1], s, s, v[0], c, splat, v[0]};
  });
  EXPECT_EQ(p.run(f, {"[1.0, 2.0]", "[3.0, 4.0]"}),
            (Texts{"f32[2] [3.0, 4.0]", "f32[2] [4.0, 6.0]", "f32[2] [4.0, 6.0]", "f32[2] [1.0, 2.0]", "f32 7.0",
                   "f32[3] [2.0, 2.0, 2.0]", "f32[2] [1.0, 2.0]"}));
}

TEST(Plan, MoreReductionsThanANestHolds) {
  Machine p;
  const FunctionId f = p.function({p.f32({4})}, [](Builder& b, const auto& v) {
    std::vector<ValueId> sums;
    for (int k = 1; k <= 20; ++k)
      sums.push_back(b.emit(Op::reduce_sum, {b.emit(Op::mul, {v[0], b.scalar(DType::F32, k)})},
                            {{Key::axes, Ints(Dimensions{0})}}));
    return sums;
  });
  EXPECT_EQ(p.run(f, {"f32[4] [1, 2, 3, 4]"})[19], "f32 200.0");
}

TEST(Plan, NothingToDo) {
  Machine p;
  const FunctionId f = p.function({p.f32({0, 3})}, [&](Builder& b, const auto& v) {
    const ValueId s = b.emit(Op::reduce_sum, {v[0]}, {{Key::axes, Ints(Dimensions{0})}});
    const ValueId m = b.emit(Op::reduce_max, {v[0]}, {{Key::axes, Ints(Dimensions{0, 1})}});
    return std::vector{b.emit(Op::neg, {v[0]}), s, m,
                       b.emit(Op::reduce_sum, {v[0]}, {{Key::axes, Ints(Dimensions{1})}})};
  });
  EXPECT_EQ(p.run(f, {"f32[0,3] []"}), (Texts{"f32[0,3] []", "f32[3] [0.0, 0.0, 0.0]", "f32 -inf", "f32[0] []"}));
  const FunctionId none = p.function({}, [](Builder&, const auto&) { return std::vector<ValueId>{}; });
  EXPECT_EQ(p.run(none, Texts{}), Texts{});
}

TEST(Plan, HugeValuesAreErrors) {
  Machine p;
  const auto huge = [&](Op op) {
    return p.function({p.f32()}, [&](Builder& b, const auto& v) {
      const std::int64_t n = std::int64_t{1} << 58;
      return std::vector{b.emit(op, {b.emit(Op::broadcast_to, {v[0]}, {{Key::shape, Ints(Dimensions{n})}})})};
    });
  };
  const auto plan = p.plans.get(p.t, huge(Op::neg));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::Memory);
}

// Each level calls the next twice: 2^40 instructions if all were inlined.
TEST(Plan, ADagOfCallsDoesNotExplode) {
  Machine p;
  FunctionId f = p.function({p.f32()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::mul, {v[0], b.scalar(DType::F32, 1.0000001)})};
  });
  for (int level = 0; level < 40; ++level)
    f = p.function({p.f32()}, [&](Builder& b, const auto& v) {
      const ValueId x = b.emit(Op::call, {v[0]}, {{Key::callee, f}});
      return std::vector{b.emit(Op::call, {x}, {{Key::callee, f}})};
    });
  const PlanRef plan = p.plan(f);
  EXPECT_LT(plan->steps.size(), 2000u);
  EXPECT_LT(plan->frame_bytes, 1 << 20);
  p.context.limits.steps = 1000;
  EXPECT_EQ(p.run(f, {"1.0"}), (Texts{"limit: the limit of 1000 steps is reached"}));
}

// 20,000 functions, each calling the one before: planning and running use no stack per call.
TEST(Plan, ALongChainOfCalls) {
  Machine p;
  FunctionId f = p.function({p.i64()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::add, {v[0], b.scalar_int(DType::I64, 1)})};
  });
  for (int k = 1; k < 20'000; ++k)
    f = p.function({p.i64()}, [&](Builder& b, const auto& v) {
      const ValueId x = b.emit(Op::call, {v[0]}, {{Key::callee, f}});
      return std::vector{b.emit(Op::add, {x, b.scalar_int(DType::I64, k % 2 ? 1 : -1)})};
    });
  EXPECT_EQ(p.run(f, {"0"}), (Texts{"i64 2"}));
}

// A pack is its tensors: across calls, as a parameter, a result, a carry and a const of a loop.
TEST(Plan, PacksAreTheirTensors) {
  Machine p;
  const TypeId pair[] = {p.f32({2}), p.i64()};
  const TypeId pack = p.t.types.pack(pair, FunctionId{});
  const FunctionId swap = p.function({p.i64(), pack}, [](Builder& b, const auto& v) {
    const auto items = b.emit_all(Op::unpack, std::span(&v[1], 1), b.tables().attrs.empty());
    const ValueId n = b.emit(Op::add, {items[1], v[0]});
    return std::vector{b.emit(Op::pack, {b.emit(Op::neg, {items[0]}), n})};
  });
  const FunctionId f = p.function({p.f32({2}), p.i64()}, [&](Builder& b, const auto& v) {
    const ValueId k = b.emit(Op::pack, {v[0], v[1]});
    const ValueId once = b.emit(Op::call, {v[1], k}, {{Key::callee, swap}});
    return std::vector{
        b.emit(Op::scan, {v[1], once}, {{Key::body, swap}, {Key::consts, 1}, {Key::carry, 1}, {Key::length, 2}}), v[1]};
  });
  EXPECT_EQ(p.run(f, {"[1.0, 2.0]", "5"}), (Texts{"f32[2] [-1.0, -2.0]", "i64 20", "i64 5"}));
}

TEST(Plan, ScalarChains) {
  Machine p;
  const FunctionId f = p.function({p.f32()}, [](Builder& b, const auto& v) {
    ValueId x = v[0];
    for (int k = 0; k < 5000; ++k) x = b.emit(k % 2 ? Op::add : Op::sub, {x, v[0]});
    return std::vector{x};
  });
  EXPECT_EQ(p.run(f, {"3.0"}), (Texts{"f32 3.0"}));
}

}  // namespace
}  // namespace tfvm::testing
