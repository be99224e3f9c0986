// Texts of any origin: one error with a place; what is accepted is a fixpoint and survives .tfbc and the formatter.

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"
#include "tests/bytecode/binary/everything.h"

namespace tfvm {
namespace {

constexpr std::string_view kPieces[] = {
    "{",  "}",      "(",  ")", "[",   "]",    ",",    ";",    ":",     "=",    "\n",    " ",     "%x",
    "@f", "-",      "%",  "1", "0.5", "not ", "and ", "if ",  "else",  "ret",  "yield", "bits(", "hex\"",
    "\"", "// c\n", "..", "<", ">",   "==",   "inf",  "true", "grad(", "none", "0x1p3", "{a=",   "\\"};

void mutate(std::string& s, std::mt19937_64& random) {
  const std::size_t at = random() % (s.size() + 1), n = random() % 8;
  switch (random() % 4) {
    case 0:
      s.insert(at, kPieces[random() % std::size(kPieces)]);
      break;
    case 1:
      s.erase(at, n);
      break;
    case 2:
      s.insert(at, s.substr(random() % s.size(), n));
      break;
    default:
      if (at < s.size()) s[at] = static_cast<char>(32 + random() % 95);
  }
}

TEST(HostileText, MutatedPrograms) {
  const char* env = std::getenv("TFVM_MUTATIONS");
  const long count = (env ? std::atol(env) : 100'000) / 10;
  const char* seed = std::getenv("TFVM_SEED");
  std::mt19937_64 random(seed ? std::strtoull(seed, nullptr, 10) : 5);
  long accepted = 0;
  for (long k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    std::string source(test::kEverything);
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) mutate(source, random);
    SCOPED_TRACE(source);
    StringTable strings;
    const auto m = parse_module(strings, source, "t");
    if (!m) {
      EXPECT_NE(m.error().loc.line, 0u);
      continue;
    }
    ++accepted;
    const std::string text = print_module(*m, strings);
    const auto back = read_tfbc(strings, write_tfbc(*m, strings), "b");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(print_module(*back, strings), text);
    const auto again = parse_module(strings, text, "t");
    ASSERT_TRUE(again) << again.error().message << '\n' << text;
    EXPECT_EQ(print_module(*again, strings), text);
    const auto formatted = format_source(source, "t", strings);
    ASSERT_TRUE(formatted);
    const auto twice = format_source(*formatted, "t", strings);
    ASSERT_TRUE(twice) << *formatted;
    EXPECT_EQ(*twice, *formatted);
  }
  EXPECT_GT(accepted, count / 100);
}

}  // namespace
}  // namespace tfvm
