// Typed functions as text, and that the text is a module.

#include "bytecode/text/print_body.h"

#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "bytecode/text/diagnostics.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"

namespace tfvm {
namespace {

struct PrintBody : testing::Test {
  Tables t;
  TypeId f32(std::initializer_list<std::int64_t> d) { return t.types.tensor(DType::F32, d); }
  StrId str(std::string_view s) { return t.strings.intern(s); }

  // Prints, and checks that what was printed is canonical text of a module.
  std::string print(FunctionId f, const FunctionText& options = {}) {
    const std::string text = print_function(t, f, options);
    const auto m = parse_module(t.strings, text, "printed");
    EXPECT_TRUE(m) << render_error(m.error(), text, t.strings);
    EXPECT_TRUE(!m || options.lines || print_module(*m, t.strings) == text);
    return text;
  }
  FunctionId seal(Builder& b, std::initializer_list<ValueId> results) {
    auto f = b.seal(results);
    EXPECT_TRUE(f) << f.error().message;
    return *f;
  }
};

TEST_F(PrintBody, NamesTypesAndLiterals) {
  Builder b(t, {}, "loss");
  const ValueId x = b.param(f32({3})), y = b.param(f32({3}));
  b.name(x, str("x"));
  b.name(y, str("x"));
  const ValueId d = b.emit(Op::mul, {b.emit(Op::sub, {x, y}), b.scalar(DType::F32, 0.5)});
  const ValueId m = b.constant(t.consts.scalar(DType::F32, 3));
  const ValueId sum = b.emit(Op::reduce_sum, {d}, {{Key::axes, 0}});
  EXPECT_EQ(print(seal(b, {sum, m})),
            "func @loss(%x: f32[3], %x.1: f32[3]) -> (f32, f32) {\n"
            "  %2 = sub %x, %x.1 : f32[3]\n"
            "  %5 = mul %2, 0.5 : f32[3]\n"
            "  %6 = clone 3.0 : f32\n"
            "  %7 = reduce_sum %5 {axes=[0]} : f32\n"
            "  ret %7, %6\n"
            "}\n");
}

TEST_F(PrintBody, ConstantsKeepTheirBits) {
  Builder b(t, {}, "c");
  const std::uint32_t bits[] = {0x80000000u, 0x7fc00001u, 0x3dcccccdu, 1u};
  const ConstId c = t.consts.intern(f32({2, 2}), std::as_bytes(std::span(bits)));
  EXPECT_EQ(constant_text(t, c), "[[-0.0, bits(0x7fc00001)], [0.1, 1e-45]]");
  const ValueId v = b.constant(c), none = b.constant(t.consts.intern(f32({0, 3}), {}));
  EXPECT_EQ(print(seal(b, {v, none})),
            "func @c() -> (f32[2,2], f32[0,3]) {\n"
            "  %0 = clone [[-0.0, bits(0x7fc00001)], [0.1, 1e-45]] : f32[2,2]\n"
            "  %1 = clone [] : f32[0,3]\n"
            "  ret %0, %1\n"
            "}\n");
}

TEST_F(PrintBody, CalleesFollowWithTheirRules) {
  Builder rule_b(t, {}, "rule");
  const ValueId p = rule_b.param(f32({})), dp = rule_b.param(f32({}));
  const FunctionId rule = seal(rule_b, {p, dp});
  Builder inner_b(t, {}, "g");
  const FunctionId inner = seal(inner_b, {inner_b.emit(Op::sin, {inner_b.param(f32({}))})});
  Builder derived_b(t, {}, inner, "vmap");
  const FunctionId derived = seal(derived_b, {derived_b.emit(Op::cos, {derived_b.param(f32({}))})});
  Builder b(t, {}, "f");
  const ValueId x = b.param(f32({})), q = b.param(t.types.scalar(DType::Bool));
  const ValueId r = b.emit(Op::call, {x}, {{Key::callee, inner}, {Key::jvp, rule}});
  const ValueId s = b.emit(Op::cond, {q, r}, {{Key::then, inner}, {Key::else_, derived}});
  EXPECT_EQ(print(seal(b, {s})),
            "func @f(%0: f32, %1: bool) -> f32 {\n"
            "  %2 = call @g(%0) : f32\n"
            "  %3 = cond %1, @g.1, @g.vmap (%2) : f32\n"
            "  ret %3\n"
            "}\n\n"
            "func @g(%0: f32) -> f32 {custom_jvp=@rule} {\n"
            "  %1 = sin %0 : f32\n"
            "  ret %1\n"
            "}\n\n"
            "func @g.1(%0: f32) -> f32 {\n"
            "  %1 = sin %0 : f32\n"
            "  ret %1\n"
            "}\n\n"
            "func @g.vmap(%0: f32) -> f32 {\n"
            "  %1 = cos %0 : f32\n"
            "  ret %1\n"
            "}\n\n"
            "func @rule(%0: f32, %1: f32) -> (f32, f32) {\n"
            "  ret %0, %1\n"
            "}\n");
}

TEST_F(PrintBody, LoopsAndDefaults) {
  Builder body(t, {}, "step");
  const ValueId c = body.param(f32({})), x = body.param(f32({}));
  const FunctionId step = seal(body, {body.emit(Op::add, {c, x}), c});
  Builder b(t, {}, "f");
  const ValueId c0 = b.param(f32({})), xs = b.param(f32({4}));
  const auto r = b.emit(Op::scan, {c0, xs}, {{Key::body, step}, {Key::carry, 1}});
  const std::string text = print(seal(b, {r}), {.callees = false});
  EXPECT_NE(text.find("= scan @step (%0, %1) {carry=1, length=4} : (f32, f32[4])\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("func @step"), std::string::npos);
}

}  // namespace
}  // namespace tfvm
