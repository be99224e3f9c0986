#include "bytecode/elaborate/library.h"

#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {
namespace {

constexpr std::string_view kText = R"(// A comment with func @nothing(%x) in it.

func @first(%x: f[..]) {
  %r = call @second(%x)
  ret %r
}

// Of the second.
func @second(%x: f[..]) {
  %r = neg %x
  ret %r
}

func @wrong(%x) {
  %r = neg %y
  ret %r
}
func @alias = grad(@first)
)";

TEST(Library, ReadsAFunctionWhenItIsNamed) {
  StringTable strings;
  Library library(strings, Space::Ops);
  library.add("lib.tfa", kText);
  EXPECT_EQ(library.names(), (std::vector<std::string_view>{"alias", "first", "second", "wrong"}));
  EXPECT_TRUE(library.has("first"));
  EXPECT_FALSE(library.has("nothing"));
  EXPECT_EQ(strings.find("second"), kNone<StrId>) << "no function is read yet";
  const Result<Library::Found> none = library.find("nothing");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);

  const Result<Library::Found> second = library.find("second");
  ASSERT_TRUE(second && *second);
  EXPECT_EQ(second->function->loc.line, 9u);
  EXPECT_EQ(strings[second->function->loc.file], "lib.tfa");
  EXPECT_EQ(library.find("second")->function, second->function);
}

TEST(Library, TellsTheLineOfAMistake) {
  StringTable strings;
  Library library(strings, Space::Ops);
  library.add("lib.tfa", kText);
  const Result<Library::Found> wrong = library.find("wrong");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().loc.line, 15u);
  EXPECT_FALSE(library.find("alias")) << "only functions with bodies";
}

TEST(Library, FunctionsCallEachOther) {
  EXPECT_EQ(Loaded("func @f(%x: f32[2]) {\n%r = first %x\nret %r\n}", kText).function("f", "f32[2]"), R"(
func @f(%x: f32[2]) -> f32[2] {
  %r = call @first(%x)
  ret %r
}

func @first(%x: f32[2]) -> f32[2] {
  %r = call @second(%x)
  ret %r
}

func @second(%x: f32[2]) -> f32[2] {
  %r = neg %x
  ret %r
}
)");
}

}  // namespace
}  // namespace tfvm::test
