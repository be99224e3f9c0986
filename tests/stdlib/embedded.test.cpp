#include "stdlib/embedded.h"

#include <gtest/gtest.h>

#include "bytecode/elaborate/library.h"

namespace tfvm {
namespace {

TEST(Embedded, FilesAreThereAndAreText) {
  ASSERT_FALSE(stdlib::files().empty());
  for (const EmbeddedFile& file : stdlib::files()) {
    EXPECT_TRUE(file.name.ends_with(".tfa")) << file.name;
    EXPECT_FALSE(file.bytes.empty()) << file.name;
    EXPECT_EQ(file.bytes.find('\0'), std::string_view::npos) << file.name;
  }
}

// A program reads only the functions that it names: here each is read, and each name in it looked up.
TEST(Embedded, EachFunctionCanBeReadAndNamesOthersThatAreThere) {
  for (const bool rules : {false, true}) {
    StringTable strings;
    Library library(strings, rules ? Space::Derivatives : Space::Ops);
    std::size_t functions = 0;
    for (const EmbeddedFile& file : stdlib::files()) {
      if (stdlib::is_rules(file) != rules) continue;
      library.add(file.name, file.bytes);
      for (std::size_t at = 0; (at = file.bytes.find("\nfunc @", at)) != file.bytes.npos; ++at) ++functions;
    }
    EXPECT_EQ(library.names().size(), functions) << "two of one name";
    for (const std::string_view name : library.names()) {
      const Result<Library::Found> found = library.find(name);
      ASSERT_TRUE(found) << name << ": " << found.error().message;
      for (const CalleeExpr& c : found->source->module.callees) {
        EXPECT_TRUE(c.is_transform() || library.has(strings[c.name])) << name << " names @" << strings[c.name];
      }
    }
  }
}

}  // namespace
}  // namespace tfvm
