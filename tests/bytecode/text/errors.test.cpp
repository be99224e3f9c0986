// Malformed programs: bad-*.tfa hold the text and behind it, in a comment, the one error that it gives.

#include <filesystem>

#include <gtest/gtest.h>

#include "bytecode/text/diagnostics.h"
#include "bytecode/text/parse.h"
#include "tests/bytecode/programs.h"
#include "tests/source_dir.h"

namespace tfvm {
namespace {

std::string error_of(std::string_view source) {
  StringTable strings;
  const auto m = parse_module(strings, source, "t.tfa");
  return m ? "no error" : render_error(m.error(), source, strings);
}

// Each case of a file is a text, a line "// ---", and the error as comment lines; cases are separated by "// ===".
TEST(Errors, Goldens) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(source_dir()) / "tests/bytecode/text/errors";
  const bool update = std::getenv("TFVM_UPDATE") != nullptr;  // rewrites the files
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string rest = test::read_file(entry.path()), out;
    while (!rest.empty()) {
      const std::size_t split = rest.find("// ---\n"), end = rest.find("// ===\n");
      const std::string source = rest.substr(0, split);
      std::string expected = rest.substr(std::min(rest.size(), split + 7), end == rest.npos ? end : end - split - 7);
      rest = end == rest.npos ? "" : rest.substr(end + 7);
      std::string got;
      std::istringstream lines(error_of(source));
      for (std::string line; std::getline(lines, line);) got += line.empty() ? "//\n" : "// " + line + '\n';
      out += source + "// ---\n" + got + (rest.empty() ? "" : "// ===\n");
      EXPECT_TRUE(update || got == expected) << entry.path().filename() << ":\n" << source << "gives\n" << got;
      ++cases;
    }
    if (update) std::ofstream(entry.path(), std::ios::binary) << out;
  }
  EXPECT_GT(cases, 40);
}

TEST(Errors, NoTextFile) {
  EXPECT_TRUE(
      error_of(std::string("func\n\0", 6))
          .starts_with("t.tfa:2:1: error: not a text file: it has a byte that no UTF-8 text has, at offset 5\n"));
  EXPECT_NE(error_of("// \xc0\x80").find("at offset 3"), std::string::npos);               // overlong
  EXPECT_NE(error_of("// \xed\xa0\x80 12345678").find("at offset 3"), std::string::npos);  // a surrogate
  EXPECT_NE(error_of("// \xf4\x90\x80\x80").find("at offset 3"), std::string::npos);
  EXPECT_NE(error_of("// \xe2\x82").find("at offset 3"), std::string::npos);  // cut
  EXPECT_EQ(error_of("// ü€😀"), "no error");
}

TEST(Errors, DeepNestingIsOneError) {
  const std::string deep(100'000, '['), parens(100'000, '(');
  const auto contains = [](const std::string& s, std::string_view part) {
    EXPECT_NE(s.find(part), std::string::npos) << s.substr(0, 300);
    EXPECT_LT(s.size(), 1000u);
  };
  contains(error_of("param @w: f32 = " + deep), "a literal of more than 64 dims");
  contains(error_of("func @f(%x) {\n  ret " + deep), "a literal of more than 64 dims");
  contains(error_of("func @f(%x) {\n  %a = foo %x {a=" + deep), "nested more than 256 deep");
  contains(error_of("func @f(%x) {\n  %a = foo " + parens), "nested more than 256 deep");
  std::string calls, blocks = "func @f(%x) {\n";
  for (int k = 0; k < 100'000; ++k) calls += "grad(", blocks += "%y = if %x {\n";
  contains(error_of("func @g = " + calls), "nested more than 256 deep");
  contains(error_of(blocks), "nested more than 256 deep");
  std::string minus = "func @f(%x) {\n  %a = foo (", nots = minus, sum = minus + "1";
  for (int k = 0; k < 100'000; ++k) minus += "- ", nots += "not ", sum += " + 1";
  contains(error_of(minus), "nested more than 256 deep");
  contains(error_of(nots), "nested more than 256 deep");
  contains(error_of(sum), "an expression of more than 1000 parts");
}

TEST(Errors, LongNamesAndNumbers) {
  EXPECT_NE(error_of("func @" + std::string(5000, 'a') + "() {\n}\n").find("a name of more than 4096"),
            std::string::npos);
  EXPECT_NE(error_of("param @w: f32 = " + std::string(5000, '1')).find("a number of more than 4096"),
            std::string::npos);
}

// Any prefix of a program is a program or one error.
TEST(Errors, EveryPrefix) {
  const std::string_view text =
      "func @f<k: int = (1 + 2)>(%x: f[..,n]) -> f {a=[b(1), \"s\\n\"]} {\n  %r = while (%i = 0) {\n    yield true\n"
      "  } do {\n    yield (dim(%x, 0))\n  }\n  ret complex(1, 2)\n}\n\ntest \"t\" {\n  expect_eq %r, bits(0x1)\n}\n";
  for (std::size_t n = 0; n < text.size(); ++n) {
    StringTable strings;
    const auto m = parse_module(strings, text.substr(0, n), "t");
    EXPECT_TRUE(m || m.error().loc.line != 0) << n;
  }
}

}  // namespace
}  // namespace tfvm
