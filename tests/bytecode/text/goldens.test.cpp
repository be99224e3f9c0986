// Every program of the shared goldens and of the stdlib parses; its text is a fixpoint; formatting loses nothing.

#include <gtest/gtest.h>

#include "bytecode/text/diagnostics.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"
#include "tests/bytecode/programs.h"

namespace tfvm {
namespace {

std::size_t count(std::string_view s, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = s.find(what); at != s.npos; at = s.find(what, at + what.size())) ++n;
  return n;
}

TEST(Programs, TextIsAFixpoint) {
  EXPECT_FALSE(test::programs().empty());
  for (const auto& path : test::programs()) {
    SCOPED_TRACE(path.string());
    StringTable strings;
    const std::string source = test::read_file(path);
    const auto m = parse_module(strings, source, path.filename().string());
    ASSERT_TRUE(m) << render_error(m.error(), source, strings);
    const std::string text = print_module(*m, strings);
    const auto again = parse_module(strings, text, "again");
    ASSERT_TRUE(again) << render_error(again.error(), text, strings);
    EXPECT_EQ(print_module(*again, strings), text);
    EXPECT_EQ(again->stmts.size(), m->stmts.size());
  }
}

TEST(Programs, FormattingKeepsCommentsAndIsIdempotent) {
  for (const auto& path : test::programs()) {
    SCOPED_TRACE(path.string());
    StringTable strings;
    const std::string source = test::read_file(path);
    const auto text = format_source(source, "f", strings);
    ASSERT_TRUE(text);
    EXPECT_EQ(count(*text, "//"), count(source, "//"));
    const auto again = format_source(*text, "f", strings);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *text);
    const auto a = parse_module(strings, source, "f"), b = parse_module(strings, *text, "f");
    EXPECT_EQ(print_module(*a, strings), print_module(*b, strings));
  }
}

}  // namespace
}  // namespace tfvm
