#include "tests/vm/machine.h"

namespace tfvm::testing {
namespace {

FunctionId unary(Machine& p, TypeId type, Op op) {
  return p.function({type}, [&](Builder& b, const auto& v) { return std::vector{b.emit(op, {v[0]})}; });
}

ValueId number(Builder& b, std::int64_t v) { return b.scalar_int(DType::I64, v); }

TEST(Control, CondRunsOneBranch) {
  Machine p;
  const FunctionId fails = p.function({p.f32({2})}, [](Builder& b, const auto& v) {
    b.emit(Op::assert_, {b.constant(b.tables().consts.scalar_int(DType::Bool, 0))}, {{Key::message, "not here"}});
    return std::vector{v[0]};
  });
  const FunctionId neg = unary(p, p.f32({2}), Op::neg);
  const FunctionId f = p.function({p.boolean(), p.f32({2})}, [&](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::cond, {v[0], v[1]}, {{Key::then, neg}, {Key::else_, fails}})};
  });
  EXPECT_EQ(p.run(f, {"true", "[1.0, 2.0]"}), (Texts{"f32[2] [-1.0, -2.0]"}));
  EXPECT_EQ(p.run(f, {"false", "[1.0, 2.0]"}), (Texts{"assert: assert failed: not here"}));
}

TEST(Control, SwitchClampsItsIndex) {
  Machine p;
  const FunctionId branches[] = {unary(p, p.i64(), Op::neg), unary(p, p.i64(), Op::square),
                                 unary(p, p.i64(), Op::not_)};
  const FunctionId f = p.function({p.i64(), p.i64()}, [&](Builder& b, const auto& v) {
    std::vector<AttrId> list;
    for (FunctionId g : branches) list.push_back(b.tables().attrs.of(g));
    return std::vector{b.emit(Op::switch_, {v[0], v[1]}, {{Key::branches, b.tables().attrs.list(list)}})};
  });
  const std::pair<const char*, const char*> cases[] = {
      {"-7", "i64 -5"}, {"0", "i64 -5"}, {"1", "i64 25"}, {"9", "i64 -6"}};
  for (const auto& [i, want] : cases) EXPECT_EQ(p.run(f, {i, "5"}), (Texts{want}));
}

// while (i < n): i + 1, (b, a + b): Fibonacci; the swap of a and b needs both buffers.
FunctionId fibonacci(Machine& p) {
  const FunctionId cond = p.function({p.i64(), p.i64(), p.i64(), p.i64()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::lt, {v[1], v[0]})};
  });
  const FunctionId body = p.function({p.i64(), p.i64(), p.i64()}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::add, {v[0], number(b, 1)}), v[2], b.emit(Op::add, {v[1], v[2]})};
  });
  return p.function({p.i64()}, [&](Builder& b, const auto& v) {
    const std::vector<ValueId> in{v[0], number(b, 0), number(b, 0), number(b, 1)};
    return b.emit_all(Op::while_, in,
                      b.tables().attrs.dict({{Key::cond, cond}, {Key::body, body}, {Key::cond_consts, 1}}));
  });
}

TEST(Control, WhileAlternatesBuffers) {
  Machine p;
  const FunctionId f = fibonacci(p);
  EXPECT_EQ(p.run(f, {"0"}), (Texts{"i64 0", "i64 0", "i64 1"}));
  EXPECT_EQ(p.run(f, {"1"}), (Texts{"i64 1", "i64 1", "i64 1"}));
  EXPECT_EQ(p.run(f, {"10"}), (Texts{"i64 10", "i64 55", "i64 89"}));
  EXPECT_EQ(p.run(f, {"11"}), (Texts{"i64 11", "i64 89", "i64 144"}));
}

// (c, k; x) -> (c + k * x, k; c): a sum, a carry that stays, the sum before each step.
FunctionId running(Machine& p, std::int64_t length, bool reverse) {
  const FunctionId body = p.function({p.i64(), p.i64(), p.i64(), p.i64()}, [](Builder& b, const auto& v) {
    const ValueId c = b.emit(Op::add, {v[1], b.emit(Op::mul, {b.emit(Op::mul, {v[2], v[3]}), v[0]})});
    return std::vector{c, v[2], v[1]};
  });
  return p.function({p.i64(), p.i64(), p.i64(), p.i64({length})}, [&](Builder& b, const auto& v) {
    return b.emit_all(
        Op::scan, v,
        b.tables().attrs.dict(
            {{Key::body, body}, {Key::consts, 1}, {Key::carry, 2}, {Key::length, length}, {Key::reverse, reverse}}));
  });
}

TEST(Control, ScanForwardsBackwardsAndOfNothing) {
  Machine p;
  EXPECT_EQ(p.run(running(p, 3, false), {"1", "10", "2", "[1, 2, 3]"}),
            (Texts{"i64 22", "i64 2", "i64[3] [10, 12, 16]"}));
  EXPECT_EQ(p.run(running(p, 3, true), {"1", "10", "2", "[1, 2, 3]"}),
            (Texts{"i64 22", "i64 2", "i64[3] [20, 16, 10]"}));
  EXPECT_EQ(p.run(running(p, 4, false), {"1", "10", "2", "[1, 2, 3, 4]"}),
            (Texts{"i64 30", "i64 2", "i64[4] [10, 12, 16, 22]"}));
  EXPECT_EQ(p.run(running(p, 0, false), {"1", "10", "2", "i64[0] []"}), (Texts{"i64 10", "i64 2", "i64[0] []"}));
}

TEST(Control, ScannedInputsAreViews) {
  Machine p;
  const FunctionId body = p.function({p.i64({2}), p.i64({2})}, [](Builder& b, const auto& v) {
    return std::vector{b.emit(Op::add, {v[0], v[1]}), b.emit(Op::neg, {v[1]})};
  });
  const FunctionId f = p.function({p.i64({2}), p.i64({2, 3})}, [&](Builder& b, const auto& v) {
    // Rows of the transposed matrix are not row-major: they are copied; a reversed one is scanned as it stands.
    const ValueId t = b.emit(Op::transpose, {v[1]}, {{Key::perm, Ints(Dimensions{1, 0})}});
    const ValueId r = b.emit(Op::reverse, {t}, {{Key::axes, Ints(Dimensions{0})}});
    return b.emit_all(Op::scan, std::vector{v[0], r},
                      b.tables().attrs.dict({{Key::body, body}, {Key::carry, 1}, {Key::length, 3}}));
  });
  EXPECT_EQ(p.run(f, {"[0, 0]", "[[1, 2, 3], [4, 5, 6]]"}),
            (Texts{"i64[2] [6, 15]", "i64[3,2] [[-3, -6], [-2, -5], [-1, -4]]"}));
}

TEST(Control, CarriesThatChangePlaces) {
  Machine p;
  const FunctionId body = p.function({p.i64(), p.i64()}, [](Builder&, const auto& v) {
    return std::vector{v[1], v[0]};
  });
  for (const std::int64_t n : {0, 1, 2, 5}) {
    const FunctionId f = p.function({p.i64(), p.i64()}, [&](Builder& b, const auto& v) {
      return b.emit_all(Op::scan, v, b.tables().attrs.dict({{Key::body, body}, {Key::carry, 2}, {Key::length, n}}));
    });
    EXPECT_EQ(p.run(f, {"1", "2"}), n % 2 ? (Texts{"i64 2", "i64 1"}) : (Texts{"i64 1", "i64 2"}));
  }
}

// x[i] = i * c for each i, in the carry's own memory, in a loop of `outer` loops.
TEST(Control, UpdatesOfACarryInPlace) {
  Machine p;
  const FunctionId body = p.function({p.i64(), p.i64({5}), p.i64()}, [](Builder& b, const auto& v) {
    const ValueId u = b.emit(Op::reshape, {b.emit(Op::add, {v[2], v[0]})}, {{Key::shape, Ints(Dimensions{1})}});
    return std::vector{b.emit(Op::dynamic_update_slice, {v[1], u, v[2]})};
  });
  const FunctionId inner = p.function({p.i64({5}), p.i64()}, [&](Builder& b, const auto& v) {
    const ValueId i = b.emit(Op::iota, {}, {{Key::shape, Ints(Dimensions{5})}});
    return std::vector{
        b.emit(Op::scan, {v[1], v[0], i}, {{Key::body, body}, {Key::consts, 1}, {Key::carry, 1}, {Key::length, 5}})};
  });
  const FunctionId f = p.function({p.i64({5}), p.i64({3})}, [&](Builder& b, const auto& v) {
    return std::vector{v[0], b.emit(Op::scan, {v[0], v[1]}, {{Key::body, inner}, {Key::carry, 1}, {Key::length, 3}})};
  });
  EXPECT_TRUE(may_share(*p.plan(body), 1, 0));
  EXPECT_TRUE(may_share(*p.plan(inner), 0, 0));
  EXPECT_EQ(p.run(f, {"[7, 7, 7, 7, 7]", "[10, 20, 30]"}),
            (Texts{"i64[5] [7, 7, 7, 7, 7]", "i64[5] [30, 31, 32, 33, 34]"}));
}

TEST(Control, AReadAfterTheUpdateForbidsIt) {
  Machine p;
  const FunctionId body = p.function({p.i64({2}), p.i64()}, [](Builder& b, const auto& v) {
    const ValueId u = b.emit(Op::reshape, {v[1]}, {{Key::shape, Ints(Dimensions{1})}});
    const ValueId x = b.emit(Op::dynamic_update_slice, {v[0], u, number(b, 0)});
    return std::vector{x, b.emit(Op::sub, {x, v[0]})};
  });
  const FunctionId f = p.function({p.i64({2}), p.i64({2})}, [&](Builder& b, const auto& v) {
    return b.emit_all(Op::scan, v, b.tables().attrs.dict({{Key::body, body}, {Key::carry, 1}, {Key::length, 2}}));
  });
  EXPECT_FALSE(may_share(*p.plan(body), 0, 0));
  EXPECT_EQ(p.run(f, {"[1, 1]", "[5, 9]"}), (Texts{"i64[2] [9, 1]", "i64[2,2] [[4, 0], [4, 0]]"}));
}

TEST(Control, ReduceByAFunction) {
  Machine p;
  // Complex-like product of pairs: (ar, ai, xr, xi).
  const FunctionId body = p.function({p.f32(), p.f32(), p.f32(), p.f32()}, [](Builder& b, const auto& v) {
    const auto mul = [&](ValueId x, ValueId y) { return b.emit(Op::mul, {x, y}); };
    return std::vector{b.emit(Op::sub, {mul(v[0], v[2]), mul(v[1], v[3])}),
                       b.emit(Op::add, {mul(v[0], v[3]), mul(v[1], v[2])})};
  });
  const FunctionId f = p.function({p.f32({2, 2}), p.f32({2, 2})}, [&](Builder& b, const auto& v) {
    const std::vector<ValueId> in{v[0], v[1], b.scalar(DType::F32, 1), b.scalar(DType::F32, 0)};
    return b.emit_all(Op::reduce, in, b.tables().attrs.dict({{Key::body, body}, {Key::axes, Ints(Dimensions{0})}}));
  });
  EXPECT_EQ(p.run(f, {"[[1.0, 0.0], [3.0, 2.0]]", "[[0.0, 1.0], [1.0, 0.0]]"}),
            (Texts{"f32[2] [3.0, 0.0]", "f32[2] [1.0, 2.0]"}));
}

}  // namespace
}  // namespace tfvm::testing
