// What the formatter does to lines, blanks and comments.

#include <gtest/gtest.h>

#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"

namespace tfvm {
namespace {

std::string format(std::string_view source) {
  StringTable strings;
  const auto once = format_source(source, "f.tfa", strings);
  EXPECT_TRUE(once) << once.error().message;
  const auto twice = format_source(*once, "f.tfa", strings);
  EXPECT_TRUE(twice && *twice == *once);
  return *once;
}

TEST(Format, SpacesLinesAndBraces) {
  EXPECT_EQ(format("func @f( %x :f32[ 3 , n ],mut %y)->(f32){\n%a=add %x,\n\n  [1,\n 2 , 3]{axes = [0,1]}:f32\n\n\n\n  "
                   "ret %a}\n"),
            "func @f(%x: f32[3,n], mut %y) -> f32 {\n  %a = add %x, [1, 2, 3] {axes=[0, 1]} : f32\n\n  ret %a\n}\n");
  EXPECT_EQ(format("func @f(%p) { %r = if %p { yield 1.0 } else { yield 2.0 }\n ret %r }"),
            "func @f(%p) {\n  %r = if %p {\n    yield 1.0\n  } else {\n    yield 2.0\n  }\n  ret %r\n}\n");
  EXPECT_EQ(format(""), "");
}

TEST(Format, CommentsStayWhereTheyAre) {
  const std::string_view text =
      "// a file\n"
      "\n"
      "// of f\n"
      "func @f(%x) {  // opens\n"
      "  // first\n"
      "  %a = sin %x  // of a\n"
      "\n"
      "  // before b\n"
      "  // and more\n"
      "  %b = if %a {  // then\n"
      "    yield %a\n"
      "    // last of then\n"
      "  } else {  // else\n"
      "    yield %x\n"
      "  }  // end of if\n"
      "  ret %b\n"
      "  // last\n"
      "}  // end of f\n"
      "\n"
      "param @w: f32  // a weight\n"
      "param @v: f32\n"
      "\n"
      "param @u: f32\n"
      "// the end\n";
  EXPECT_EQ(format(text), text);
}

TEST(Format, CommentsInsideOfAStatementFollowIt) {
  EXPECT_EQ(format("func @f(%x) {\n  %a = add %x, [1, // one\n    // two\n    2]\n  ret %a\n}\n"),
            "func @f(%x) {\n  %a = add %x, [1, 2]  // one\n  // two\n  ret %a\n}\n");
}

TEST(Format, OnlyAComment) { EXPECT_EQ(format("\n\n// c\n\n\n\n// d"), "// c\n\n// d\n"); }

}  // namespace
}  // namespace tfvm
