// Bytes of any origin: one error, never a fault; and what is accepted is canonical.

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/diagnostics.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"
#include "tests/bytecode/binary/everything.h"

namespace tfvm {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::string_view kProgram = R"(param @w: f32[2] = [0.5, 1e3]

func @f<axis: int = 1>(%x: f[..], %y: f[n]) -> f {derivative=@g} {
  %a = reduce_sum %x {axes=[(dim(%x, 0) % 2 + axis)], s="text", v=[alias(), none]} : f32
  %b, %c = scan (%i = 0; %q = %y) {length=3} {
    %d = if %a {
      yield %i, true
    } else {
      yield %scan.i, bits(0xff)
    }
    yield %d; [[1, 2], [3, 4]]
  }
  %e = while (%z = %b) {
    yield %z
  } do {
    yield %z
  }
  %r = switch %e, [@f, @g] (%x, @w)
  ret %r
}

func @g = vmap(grad(@f<axis=0>, argnums=[y]), in_dims=[0, none])

extern op "my.op"(mut %k: i32[..b]) -> (pack, t2)

test "t" {skip="no"} {
  expect_error "m" %r = call @f(complex(1, 2), hex"0011")
}
)";

struct Sections {
  Bytes code, debug;
};

Sections sections_of(std::string_view text, bool debug) {
  StringTable strings;
  const auto m = parse_module(strings, text, "t.tfa");
  const Bytes all = write_tfbc(*m, strings, debug);
  const auto code = code_section(all);
  const auto rest = std::span(all).subspan(8 + 20 + code.size());
  Sections s{{code.begin(), code.end()}, {}};
  if (!rest.empty()) s.debug.assign(rest.begin() + 20, rest.end());
  return s;
}

void mutate(Bytes& b, std::mt19937_64& random) {
  if (b.empty()) return;
  const std::size_t at = random() % b.size();
  switch (random() % 6) {
    case 0:
      b[at] ^= static_cast<std::byte>(1u << random() % 8);
      break;
    case 1:
      b[at] = static_cast<std::byte>(random());
      break;
    case 2:
      b.resize(at);
      break;
    case 3:
      b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(random() % 9));
      break;
    case 4:
      b.erase(b.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default:
      b[at] = static_cast<std::byte>(random() % 4);
  }
}

// What was read is printable, the text reads back, and it is the same code, byte for byte.
void expect_canonical(const Module& m, StringTable& strings, const Bytes& code, const Bytes& debug) {
  EXPECT_TRUE(std::ranges::equal(write_tfbc(m, strings, !debug.empty()), write_sections(code, debug)));
  const std::string text = print_module(m, strings);
  const auto again = parse_module(strings, text, "again");
  if (!again && again.error().message.find("nested more than") != std::string::npos) return;
  ASSERT_TRUE(again) << render_error(again.error(), text, strings);
  const Bytes back = write_tfbc(*again, strings, false);
  EXPECT_TRUE(std::ranges::equal(code_section(back), code)) << text;
}

TEST(HostileTfbc, MutatedSections) {
  const char* env = std::getenv("TFVM_MUTATIONS");
  const long count = env ? std::atol(env) : 100'000;
  const char* seed = std::getenv("TFVM_SEED");
  std::mt19937_64 random(seed ? std::strtoull(seed, nullptr, 10) : 20240607);
  const Sections bases[] = {sections_of(kProgram, true), sections_of(kProgram, false),
                            sections_of(test::kEverything, true), sections_of(test::kEverything, false)};
  long accepted = 0;
  for (long k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    Sections s = bases[k % 4];
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) mutate(random() % 4 == 0 ? s.debug : s.code, random);
    StringTable strings;
    const auto m = read_sections(strings, s.code, s.debug, "x.tfbc");
    if (m) {
      ++accepted;
      SCOPED_TRACE("mutation " + std::to_string(k));
      expect_canonical(*m, strings, s.code, s.debug);
    } else {
      EXPECT_FALSE(m.error().message.empty());
    }
  }
  EXPECT_GT(accepted, 0);
  std::printf("accepted %ld of %ld\n", accepted, count);
}

TEST(HostileTfbc, MutatedFiles) {
  const Sections base = sections_of(kProgram, true);
  const Bytes file = write_sections(base.code, base.debug);
  std::mt19937_64 random(7);
  for (int k = 0; k < 20'000; ++k) {
    Bytes b = file;
    mutate(b, random);
    StringTable strings;
    const auto m = read_tfbc(strings, b, "x.tfbc");
    EXPECT_TRUE(b == file || b.size() == 28 + base.code.size() || !m);  // cut behind the code: stripped
  }
}

TEST(HostileTfbc, EveryTruncationFails) {
  const Sections base = sections_of(kProgram, true);
  const Bytes file = write_sections(base.code, base.debug);
  const std::size_t only_code = 8 + 20 + base.code.size();
  for (std::size_t n = 0; n < file.size(); ++n) {
    StringTable strings;
    EXPECT_EQ(static_cast<bool>(read_tfbc(strings, std::span(file).first(n), "x")), n == only_code) << n;
  }
}

TEST(HostileTfbc, ErrorsSayWhatAndWhere) {
  StringTable strings;
  const auto message = [&](const Bytes& b) { return read_tfbc(strings, b, "x.tfbc").error().message; };
  EXPECT_EQ(message({}), "not a well-formed .tfbc file: it does not begin with TFBC");
  const Sections base = sections_of(kProgram, false);
  Bytes file = write_sections(base.code, {});
  file[4] = std::byte{9};
  EXPECT_EQ(message(file), "not a well-formed .tfbc file: it has version 9; this program reads version 1");
  file[4] = std::byte{1};
  file.back() ^= std::byte{1};
  EXPECT_EQ(message(file), "not a well-formed .tfbc file: its bytes do not have their hash: section at byte 8");
  const Bytes large(9, std::byte{0xff});
  EXPECT_EQ(message(write_sections(large, {})),
            "not a well-formed .tfbc file: it ends too early, at byte 9 of its code section");
}

// Nested lists of attributes, 10^5 deep: an error, not the end of the stack.
TEST(HostileTfbc, DeepNesting) {
  StringTable strings;
  const std::string text =
      "func @f(%x) {\n  %a = foo %x {v=" + std::string(250, '[') + std::string(250, ']') + "}\n  ret %a\n}\n";
  const auto m = parse_module(strings, text, "t.tfa");
  ASSERT_TRUE(m);
  Bytes file = write_tfbc(*m, strings, false);
  const auto code = code_section(file);
  Bytes deep(code.begin(), code.end());
  const Bytes list{std::byte{6}, std::byte{1}};
  const auto at = std::ranges::search(deep, list).begin() - deep.begin();
  Bytes lists;
  for (int k = 0; k < 100'000; ++k) lists.insert(lists.end(), list.begin(), list.end());
  deep.insert(deep.begin() + at, lists.begin(), lists.end());
  const auto back = read_sections(strings, deep, {}, "x");
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message.find("nested too deep"), std::string::npos) << back.error().message;
}

}  // namespace
}  // namespace tfvm
