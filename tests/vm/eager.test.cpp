// Full functions run as written: views alias, writes are seen through every view, blocks pass values.
#include "tests/vm/machine.h"
#include "vm/eager/run.h"

namespace tfvm::testing {
namespace {

struct Full : Machine {
  EagerCache code{plans};

  FunctionId full(const std::vector<TypeId>& params, const Make& make) {
    Builder b(t, {nullptr, false}, "f");
    b.set_full();
    std::vector<ValueId> values;
    for (TypeId type : params) values.push_back(b.param(type, true));
    const Result<FunctionId> f = b.seal(make(b, values));
    EXPECT_TRUE(f) << f.error().message;
    return f ? *f : FunctionId{};
  }

  // Results as text, or the error's.
  std::vector<std::string> run_on(FunctionId f, const std::vector<Tensor>& inputs) {
    const Result<EagerRef> made = code.get(t, f, context.budget());
    if (!made) return {made.error().message};
    const auto out = EagerRun(context, {}).call(**made, inputs);
    if (!out) return {std::string(name(out.error().code)) + ": " + out.error().message};
    std::vector<std::string> texts;
    for (const Tensor& x : *out) texts.push_back(print(x, {.full = true}));
    return texts;
  }
};

ValueId add_(Builder& b, ValueId x, ValueId y) { return b.emit(Op::write, {x, y}, {{Key::op, "add"}}); }
ValueId transposed(Builder& b, ValueId x) { return b.emit(Op::transpose, {x}); }
ValueId row(Builder& b, ValueId x, std::int64_t i) {
  const Dimensions dims(b.dims(x).begin(), b.dims(x).end()), start{i, 0}, limit{i + 1, dims[1]}, out{dims[1]};
  const ValueId s = b.emit(Op::slice, {x}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}});
  return b.emit(Op::view, {s}, {{Key::shape, Ints(out)}});
}

Tensor numbers(const char* text) { return *parse_tensor(text); }

TEST(Eager, AWriteThroughAViewIsSeenByTheBaseAndTheCaller) {
  Full m;
  const FunctionId f = m.full({m.f32({2, 3})}, [](Builder& b, const auto& v) {
    const ValueId column = row(b, transposed(b, v[0]), 1);
    add_(b, column, column);
    return std::vector{column, b.emit(Op::neg, {v[0]})};
  });
  const Tensor x = numbers("f32[2,3] [[1, 2, 3], [4, 5, 6]]");
  EXPECT_EQ(m.run_on(f, {x}), (Texts{"f32[2] [4.0, 10.0]", "f32[2,3] [[-1.0, -4.0, -3.0], [-4.0, -10.0, -6.0]]"}));
  EXPECT_EQ(print(x), "f32[2,3] [[1.0, 4.0, 3.0], [4.0, 10.0, 6.0]]");
}

TEST(Eager, AWriteIntoOverlappingElementsIsRefusedAndLeavesTheBase) {
  Full m;
  const FunctionId wide = m.full({m.f32({2, 1})}, [](Builder& b, const auto& v) {
    const Dimensions shape{2, 3};
    return std::vector{add_(b, b.emit(Op::broadcast_to, {v[0]}, {{Key::shape, Ints(shape)}}), b.scalar(DType::F32, 1))};
  });
  const Tensor x = numbers("f32[2,1] [[1], [1]]");
  EXPECT_EQ(m.run_on(wide, {x}),
            (Texts{"type: [add_] can't write into an expanded or overlapping view: f32[2,3] with strides [1, 0] has "
                   "elements that share a place; clone it first"}));
  EXPECT_EQ(print(x), "f32[2,1] [[1.0], [1.0]]");
}

// R19: what comes back is the view itself, with its strides and offset over the caller's storage.
TEST(Eager, AReturnedViewKeepsStridesAndStorage) {
  Full m;
  const FunctionId f = m.full({m.f32({2, 3})}, [](Builder& b, const auto& v) {
    const ValueId y = transposed(b, v[0]);
    b.emit(Op::write, {y, b.scalar(DType::F32, 2)}, {{Key::op, "mul"}});
    return std::vector{y};
  });
  const Tensor x = numbers("f32[2,3] [[0, 1, 2], [3, 4, 5]]");
  const auto out = EagerRun(m.context, {}).call(**m.code.get(m.t, f, {}), {x});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->front().layout().strides, (Dimensions{1, 3}));
  EXPECT_EQ(out->front().data(), x.data());
  out->front().as<float>()[3] = -1;
  EXPECT_EQ(print(x), "f32[2,3] [[0.0, 2.0, 4.0], [-1.0, 8.0, 10.0]]");
}

TEST(Eager, OverlapIsExact) {
  EXPECT_FALSE(overlaps_itself(Layout{{2, 3}, {3, 1}, 0}));
  EXPECT_FALSE(overlaps_itself(Layout{{3, 2}, {1, -3}, 9}));
  EXPECT_FALSE(overlaps_itself(Layout{{2, 3}, {3, 2}, 0}));  // 0 2 4, 3 5 7
  EXPECT_TRUE(overlaps_itself(Layout{{2, 3}, {4, 2}, 0}));   // 0 2 4, 4 …
  EXPECT_TRUE(overlaps_itself(Layout{{4, 1}, {0, 0}, 0}));
  EXPECT_FALSE(overlaps_itself(Layout{{0, 4}, {0, 0}, 0}));
  EXPECT_FALSE(overlaps_itself(Layout{{1, 4}, {0, 1}, 0}));
}

TEST(Eager, AsStridedAddressesTheStorage) {
  Full m;
  const FunctionId f = m.full({m.i64({10})}, [](Builder& b, const auto& v) {
    const Dimensions two{2}, three{3}, start{2}, limit{8};
    const ValueId s =
        b.emit(Op::slice, {v[0]}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}, {Key::stride, Ints(two)}});
    const ValueId a =
        b.emit(Op::as_strided, {s}, {{Key::shape, Ints(two)}, {Key::strides, Ints(three)}, {Key::offset, 1}});
    b.emit(Op::write, {a, b.scalar_int(DType::I64, 10)}, {{Key::op, "mul"}});
    return std::vector{v[0], s};
  });
  EXPECT_EQ(m.run_on(f, {numbers("i64[10] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]")}),
            (Texts{"i64[10] [0, 10, 2, 3, 40, 5, 6, 7, 8, 9]", "i64[3] [2, 40, 6]"}));
  EXPECT_EQ(m.run_on(f, {numbers("i64[10] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]").with_layout(Layout{{10}, {0}, 2})}).size(),
            2u);
}

TEST(Eager, OverlappingArgumentsOfOneWrite) {
  Full m;
  const FunctionId f = m.full({m.f32({4}), m.f32({4})}, [](Builder& b, const auto& v) {
    b.emit(Op::write, {v[0], b.scalar(DType::F32, 2)}, {{Key::op, "mul"}});
    return std::vector{b.emit(Op::add, {v[0], v[1]})};
  });
  const Tensor base = numbers("f32[8] [1, 1, 1, 1, 1, 1, 1, 1]");
  EXPECT_EQ(m.run_on(f, {base.with_layout(Layout{{4}, {1}, 0}), base.with_layout(Layout{{4}, {1}, 2})}),
            (Texts{"f32[4] [4.0, 4.0, 3.0, 3.0]"}));
  const FunctionId shift = m.full({m.f32({5})}, [](Builder& b, const auto& v) {
    const Dimensions zero{0}, one{1}, four{4}, five{5};
    const ValueId to = b.emit(Op::slice, {v[0]}, {{Key::start, Ints(one)}, {Key::limit, Ints(five)}});
    b.emit(Op::copy_, {to, b.emit(Op::slice, {v[0]}, {{Key::start, Ints(zero)}, {Key::limit, Ints(four)}})});
    return std::vector{v[0]};
  });
  EXPECT_EQ(m.run_on(shift, {numbers("f32[5] [0, 1, 2, 3, 4]")}), (Texts{"f32[5] [0.0, 0.0, 1.0, 2.0, 3.0]"}));
}

std::size_t steps_of(Full& m, FunctionId f) {
  const Result<EagerRef> made = m.code.get(m.t, f, m.context.budget());
  EXPECT_TRUE(made);
  return made ? (*made)->steps.size() : 0;
}

TEST(Eager, WhatAWriteAloneReadsIsComputedByIt) {
  Full m;
  const FunctionId f = m.full({m.f32({3}), m.f32({3})}, [](Builder& b, const auto& v) {
    const ValueId p = b.emit(Op::mul, {v[1], b.scalar(DType::F32, 2)}), q = b.emit(Op::add, {p, p});
    add_(b, v[0], b.emit(Op::neg, {q}));
    return std::vector{b.emit(Op::exp, {b.emit(Op::sub, {v[0], v[0]})})};
  });
  EXPECT_EQ(steps_of(m, f), 2u);
  const Tensor x = numbers("f32[3] [1, 2, 3]"), y = numbers("f32[3] [10, 20, 30]");
  EXPECT_EQ(m.run_on(f, {x, y}), (Texts{"f32[3] [1.0, 1.0, 1.0]"}));
  EXPECT_EQ(print(x), "f32[3] [-39.0, -78.0, -117.0]");
  EXPECT_EQ(m.run_on(f, {y, y}), (Texts{"f32[3] [1.0, 1.0, 1.0]"}));
  EXPECT_EQ(print(y), "f32[3] [-30.0, -60.0, -90.0]");
}

TEST(Eager, WhatIsReadBehindAWriteIsComputedBeforeIt) {
  Full m;
  const FunctionId f = m.full({m.f32({2}), m.f32({2})}, [](Builder& b, const auto& v) {
    const ValueId old = b.emit(Op::neg, {v[0]});
    add_(b, v[0], v[1]);
    return std::vector{b.emit(Op::mul, {old, v[0]})};
  });
  EXPECT_EQ(steps_of(m, f), 3u);
  EXPECT_EQ(m.run_on(f, {numbers("f32[2] [1, 2]"), numbers("f32[2] [1, 1]")}), (Texts{"f32[2] [-2.0, -6.0]"}));
}

// The target is read backwards by its own write: what is read must be what was there.
TEST(Eager, AWriteThatReadsItsTargetElsewhereReadsWhatWasThere) {
  Full m;
  const FunctionId f = m.full({m.f32({4})}, [](Builder& b, const auto& v) {
    const Dimensions axes{0};
    const ValueId back = b.emit(Op::reverse, {v[0]}, {{Key::axes, Ints(axes)}});
    add_(b, v[0], b.emit(Op::mul, {back, b.scalar(DType::F32, 10)}));
    return std::vector<ValueId>{};
  });
  const Tensor x = numbers("f32[4] [1, 2, 3, 4]");
  EXPECT_EQ(m.run_on(f, {x}), Texts{});
  EXPECT_EQ(print(x), "f32[4] [41.0, 32.0, 23.0, 14.0]");
}

TEST(Eager, ResultsOfBlocksAreValuesAndCapturesAreTensors) {
  Full m;
  // The block writes into what it captures and gives a view of it.
  const FunctionId then = m.full({m.f32({2, 2})}, [](Builder& b, const auto& v) {
    add_(b, v[0], b.scalar(DType::F32, 1));
    return std::vector{row(b, v[0], 0)};
  });
  const FunctionId other = m.function({m.f32({2, 2})}, [](Builder& b, const auto& v) {
    return std::vector{b.splat(b.tables().types.tensor(DType::F32, {2}), 0.0 * static_cast<double>(b.rank(v[0])))};
  });
  const FunctionId f = m.full({m.boolean(), m.f32({2, 2})}, [&](Builder& b, const auto& v) {
    const ValueId r = b.emit(Op::cond, {v[0], v[1]}, {{Key::then, then}, {Key::else_, other}});
    add_(b, r, b.scalar(DType::F32, 100));
    return std::vector{r, v[1]};
  });
  EXPECT_EQ(m.run_on(f, {numbers("true"), numbers("f32[2,2] [[1, 2], [3, 4]]")}),
            (Texts{"f32[2] [102.0, 103.0]", "f32[2,2] [[2.0, 3.0], [4.0, 5.0]]"}));
}

TEST(Eager, LoopsCarryValuesOfTheirOwn) {
  Full m;
  const FunctionId body = m.full({m.f32({2}), m.f32({2})}, [](Builder& b, const auto& v) {
    add_(b, v[1], b.scalar(DType::F32, 1));  // the carry: the caller's tensor stays
    add_(b, v[0], v[1]);                     // a const: the caller sees it
    return std::vector{v[1], v[1]};
  });
  const FunctionId f = m.full({m.f32({2}), m.f32({2})}, [&](Builder& b, const auto& v) {
    const ValueId operands[] = {v[0], v[1]};
    std::vector<ValueId> r =
        b.emit_all(Op::scan, operands,
                   b.tables().attrs.dict({{Key::body, body}, {Key::consts, 1}, {Key::carry, 1}, {Key::length, 3}}));
    r.insert(r.end(), {v[0], v[1]});
    return r;
  });
  EXPECT_EQ(m.run_on(f, {numbers("f32[2] [0, 0]"), numbers("f32[2] [1, 10]")}),
            (Texts{"f32[2] [4.0, 13.0]", "f32[3,2] [[2.0, 11.0], [3.0, 12.0], [4.0, 13.0]]", "f32[2] [9.0, 36.0]",
                   "f32[2] [1.0, 10.0]"}));
}

TEST(Eager, LimitsCountTripsOfLoopsThatWrite) {
  Full m;
  const FunctionId body =
      m.full({m.f32({2})}, [](Builder& b, const auto& v) { return std::vector{add_(b, v[0], v[0])}; });
  const FunctionId f = m.full({m.f32({2})}, [&](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::scan, {v[0]}, {{Key::body, body}, {Key::carry, 1}, {Key::length, 100}})};
  });
  m.context.limits.steps = 10;
  EXPECT_EQ(m.run_on(f, {numbers("f32[2] [1, 1]")}), (Texts{"limit: the limit of 10 steps is reached"}));
  EXPECT_EQ(m.context.limits.steps, 10);
}

}  // namespace
}  // namespace tfvm::testing
