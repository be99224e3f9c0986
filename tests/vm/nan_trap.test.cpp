// Planted nans: the trap names the line that gives each, the element, the lane and the steps of loops around.
#include "vm/trap/nan_trap.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/vm/nan_planted.h"
#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

std::unique_ptr<VM> make_vm(NanTrap trap, const char* source) {
  VmOptions o;
  o.nan_trap = trap;
  auto vm = VM::create(o);
  if (!vm) return nullptr;
  const Status s = (*vm)->load_text(source, "planted.tfa");
  EXPECT_TRUE(s) << s.error().message << " line " << s.error().loc.line;
  return *std::move(vm);
}

// "f32[64] 1.5" with each of the 64.
std::string with_all_elements(const std::string& s) {
  if (s.rfind("f32[64] ", 0) != 0) return s;
  std::string out = "f32[64] [";
  for (int k = 0; k < 64; ++k) out += (k ? ", " : "") + s.substr(8);
  return out + "]";
}

Result<std::vector<Value>> call(VM& vm, const char* callee, const std::vector<const char*>& args) {
  std::vector<Value> in;
  std::vector<TypeId> types;
  for (const char* s : args) {
    in.push_back(vm.value(*parse_tensor(with_all_elements(s))));
    types.push_back(in.back().type);
  }
  const auto f = vm.entry(callee, types);
  if (!f) return f.error();
  Context context(vm.budget());
  return vm.call(context, *f, in);
}

std::uint32_t line_of_nan(std::string_view source) {
  const auto before = source.substr(0, source.find("// nan"));
  return 1 + static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
}

std::string all_of(const Error& e) {
  std::string text = std::string(name(e.code)) + " line " + std::to_string(e.loc.line) + ": " + e.message;
  for (const std::string& note : e.notes) text += "\n  note: " + note;
  return text;
}

std::vector<const char*> args_of(const Planted& p) {
  if (!p.args.empty()) return p.args;
  static const std::string kRow = [] {  // 50 elements, of which number 31 is negative
    std::string s = "f32[50] [";
    for (int k = 0; k < 50; ++k) s += k == 31 ? "-1, " : "2, ";
    return s.substr(0, s.size() - 2) + "]";
  }();
  return {kRow.c_str()};
}

class NanTraps : public ::testing::TestWithParam<Planted> {};

TEST_P(NanTraps, NamesTheLine) {
  const Planted& p = GetParam();
  const auto vm = make_vm(NanTrap::All, p.source);
  const auto out = call(*vm, p.callee, args_of(p));
  ASSERT_FALSE(out) << "no nan was seen";
  const std::string text = all_of(out.error());
  EXPECT_EQ(out.error().code, Code::Assert) << text;
  EXPECT_EQ(out.error().loc.line, line_of_nan(p.source)) << text;
  for (const char* part : p.says) EXPECT_NE(text.find(part), text.npos) << part << " in: " << text;
}

TEST_P(NanTraps, LiveTellsOnlyOfWhatIsSeen) {
  const Planted& p = GetParam();
  const auto vm = make_vm(NanTrap::Live, p.source);
  const auto out = call(*vm, p.callee, args_of(p));
  if (!p.live) {
    EXPECT_TRUE(out) << all_of(out.error());
    return;
  }
  ASSERT_FALSE(out) << "no nan was seen";
  const std::string text = all_of(out.error());
  EXPECT_EQ(out.error().loc.line, line_of_nan(p.source)) << text;
  if (!NestCompiler::is_available()) return;  // which of two nans an op hands on is not the interpreter's to say
  for (const char* part : p.says) EXPECT_NE(text.find(part), text.npos) << part << " in: " << text;
}

TEST_P(NanTraps, OffSaysNothing) {
  const Planted& p = GetParam();
  const auto vm = make_vm(NanTrap::Off, p.source);
  const auto out = call(*vm, p.callee, args_of(p));
  EXPECT_TRUE(out) << all_of(out.error());
}

INSTANTIATE_TEST_SUITE_P(All, NanTraps, ::testing::ValuesIn(planted_nans().begin(), planted_nans().end()),
                         [](const auto& given) { return std::string(given.param.name); });

// The first one is masked, the second one, by the same op in a later step, is not.
TEST(NanTrap, LiveTellsTheStepOfTheOneThatIsSeen) {
  const char* source = R"(func @f(%x: f64[6], %m: f64[6], %z: f64) {
  %y, %n = scan (%a = %z; %v = %x, %k = %m) {
    %l = log %v  // nan
    %p = gt %k, 0
    %s = select %p, %l, 0
    %b = add %a, %s
    yield %b; %b
  }
  ret %y
})";
  const auto vm = make_vm(NanTrap::Live, source);
  const auto out = call(*vm, "@f", {"f64[6] [1, -1, 1, -1, -1, 1]", "f64[6] [1, 0, 1, 0, 1, 1]", "f64 0"});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().loc.line, 3u);
  EXPECT_NE(all_of(out.error()).find("in step 4 of the scan"), std::string::npos) << all_of(out.error());
}

TEST(NanTrap, TellsTangentsFromCotangents) {
  const char* source = R"(func @f(%x: f32[2], %w: f32[2]) {
  %p = dot %x, %w
  %q = mul %p, %p
  %s = min %q, 5
  ret %s
})";
  const auto message = [&](NanTrap trap) {
    const auto vm = make_vm(trap, source);
    const auto out = call(*vm, "hessian(@f)", {"f32[2] [1, 2]", "f32[2] [inf, 1]"});
    return out ? "none" : out.error().message;
  };
  EXPECT_EQ(message(NanTrap::All), "[dot_general] gives nan: %p.t.b in lane 1");
  EXPECT_EQ(message(NanTrap::Live), "[dot_general] gives nan: %x.t.ct.t.b[0] in lane 0");
}

// What is not run gives no nan.
TEST(NanTrap, DeadCodeGivesNone) {
  const char* source = R"(func @f(%x: f32[2]) {
  %y = log %x
  %z = add %x, 1
  ret %z
})";
  const auto vm = make_vm(NanTrap::All, source);
  const auto out = call(*vm, "@f", {"f32[2] [-1, 1]"});
  EXPECT_TRUE(out) << all_of(out.error());
}

TEST(NanTrap, NamesAnInput) {
  const char* source = "func @f(%x: f32[3], %y: f32[3]) {\n  %z = add %x, %y\n  ret %z\n}\n";
  for (const NanTrap trap : {NanTrap::All, NanTrap::Live}) {
    const auto vm = make_vm(trap, source);
    const auto out = call(*vm, "@f", {"f32[3] [1, 2, 3]", "f32[3] [1, nan, 3]"});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().message, "input 1 holds nan: %y[1]") << all_of(out.error());
  }
}

TEST(NanTrap, NamesALineOfAFunctionThatWrites) {
  const char* source = R"(func @f(mut %x: f32[3]) {
  %l = log %x  // nan
  %w = add_ %x, %l
  ret
})";
  const auto vm = make_vm(NanTrap::All, source);
  const auto out = call(*vm, "@f", {"f32[3] [1, -2, 3]"});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().loc.line, 2u) << all_of(out.error());
}

TEST(NanTrap, ResultsAreThoseWithoutIt) {
  const char* source = R"(func @f(%x: f32[64]) {
  %y = scan (%a = %x;) {length=20} {
    %b = mul %a, 0.9
    %c = log %b
    %p = gt %b, 0
    %d = select %p, %c, 0
    %g = add %b, %d
    %h = abs %g
    %i = add %h, 1
    yield %i;
  }
  ret %y
})";
  std::vector<std::string> texts;
  for (const NanTrap trap : {NanTrap::Off, NanTrap::All, NanTrap::Live}) {
    const auto vm = make_vm(trap, source);
    const auto out = call(*vm, "grad(@f)", {"f32[64] 1.5"});
    const auto forward = call(*vm, "@f", {"f32[64] 1.5"});
    ASSERT_TRUE(forward) << all_of(forward.error());
    texts.push_back(print(forward->front().tensor(), {.full = true}));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
}

TEST(NanTrap, FindsNanOfEveryDtype) {
  for (const char* text : {"f16[9] [1, 2, 3, 4, 5, 6, 7, nan, 9]", "bf16[9] [1, 2, 3, 4, 5, 6, 7, nan, 9]",
                           "f32[9] [1, 2, 3, 4, 5, 6, 7, nan, 9]", "f64[9] [1, 2, 3, 4, 5, inf, 7, nan, 9]"})
    EXPECT_EQ(first_nan(*parse_tensor(text)), 7) << text;
  EXPECT_EQ(first_nan(*parse_tensor("f64[3] [1, inf, -inf]")), std::nullopt);
  EXPECT_EQ(first_nan(*parse_tensor("i32[3] [1, -1, 2147483647]")), std::nullopt);
}

}  // namespace
}  // namespace tfvm
