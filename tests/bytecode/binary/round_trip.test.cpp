// text -> module -> .tfbc -> module -> text, and .tfbc -> text -> .tfbc.

#include <algorithm>

#include <gtest/gtest.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/diagnostics.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"
#include "tests/bytecode/binary/everything.h"
#include "tests/bytecode/programs.h"

namespace tfvm {
namespace {

Module parse(StringTable& strings, std::string_view text) {
  auto m = parse_module(strings, text, "t.tfa");
  EXPECT_TRUE(m) << render_error(m.error(), text, strings);
  return m ? std::move(*m) : Module{};
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

void expect_round_trip(std::string_view source) {
  StringTable strings;
  const Module m = parse(strings, source);
  const std::string text = print_module(m, strings);
  const auto bytes = write_tfbc(m, strings);

  StringTable others;  // nothing of the first table is needed
  auto back = read_tfbc(others, bytes, "x.tfbc");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(print_module(*back, others), text);
  EXPECT_EQ(others[back->file], "t.tfa");
  ASSERT_EQ(back->stmts.size(), m.stmts.size());
  for (std::size_t k = 0; k < m.stmts.size(); ++k) EXPECT_EQ(back->stmts[k].place.line, m.stmts[k].place.line);
  EXPECT_TRUE(same(write_tfbc(*back, others), bytes));
  EXPECT_TRUE(same(code_section(write_tfbc(parse(others, text), others)), code_section(bytes)));

  // Names and lines are no part of the code.
  const auto bare = write_tfbc(m, strings, false);
  EXPECT_TRUE(same(code_section(bare), code_section(bytes)));
  StringTable third;
  auto stripped = read_tfbc(third, bare, "x.tfbc");
  ASSERT_TRUE(stripped) << stripped.error().message;
  const std::string bare_text = print_module(*stripped, third);
  EXPECT_TRUE(same(code_section(write_tfbc(parse(third, bare_text), third)), code_section(bytes))) << bare_text;
}

TEST(Tfbc, RoundTripOfEverything) {
  StringTable strings;
  EXPECT_EQ(print_module(parse(strings, test::kEverything), strings), test::kEverything);
  expect_round_trip(test::kEverything);
}

TEST(Tfbc, RoundTripOfPrograms) {
  for (const auto& path : test::programs()) {
    SCOPED_TRACE(path.string());
    expect_round_trip(test::read_file(path));
  }
}

TEST(Tfbc, StrippedNamesAreMadeUp) {
  StringTable strings;
  const Module m = parse(strings,
                         "param @w: f32\n\nfunc @loss(%x, %y) {\n  %a = mul %x, @w\n  ret %a\n}\n\n"
                         "test \"name\" {\n  %g = call grad(@loss, argnums=[y])(1.0, 2.0)\n}\n");
  const auto back = read_tfbc(strings, write_tfbc(m, strings, false), "x.tfbc");
  ASSERT_TRUE(back);
  EXPECT_EQ(print_module(*back, strings),
            "param @w0: f32\n\nfunc @f1(%0, %y) {\n  %2 = mul %0, @w0\n  ret %2\n}\n\n"
            "test \"0\" {\n  %0 = call grad(@f1, argnums=[y])(1.0, 2.0)\n}\n");
}

TEST(Tfbc, CodeDoesNotDependOnNamesOrLines) {
  StringTable strings;
  const auto code = [&](std::string_view text) { return write_tfbc(parse(strings, text), strings, false); };
  EXPECT_EQ(code("func @f(%x) {\n  %a = sin %x\n  ret %a\n}\n"),
            code("// c\n\nfunc @g(%q) {\n\n  %b = sin %q // d\n  ret %b\n}\n"));
}

}  // namespace
}  // namespace tfvm
