// Which custom ops write in place, and what stands in the way.
#include "functionalize/reinplace.h"

#include "tests/functionalize/made.h"

namespace tfvm::test {

namespace {

// The log of one function, a line for each custom op, or the error.
std::string log_of(const std::string& text, std::string_view name, std::string_view args) {
  Loaded p(text);
  if (!p.load_error.empty()) return p.load_error;
  Tables& t = *p.tables;
  const Result<Callee*> f = p.program.function(name);
  if (!f) return Loaded::describe(f.error());
  const Result<FunctionId> full = (*f)->instantiate(types(t, args));
  if (!full) return Loaded::describe(full.error());
  const Result<FunctionId> core = functionalize(t, *full, {});
  if (!core) return Loaded::describe(core.error());
  std::vector<std::uint32_t> into;
  for (std::uint32_t k = 0; k < t.body(*full).mut_params.size(); ++k)
    if (t.body(*full).mut_params[k]) into.push_back(k);
  ReinplaceLog log;
  const Result<FunctionId> made = reinplace(t, *core, into, &log);
  if (!made) return Loaded::describe(made.error());
  std::string s;
  for (const ReinplaceEntry& e : log) s += tfvm::text(e) + '\n';
  return s;
}

constexpr std::string_view kInc = "extern op \"inc\"(mut %z: f32[..])\n";

std::string of_body(const std::string& body, std::string_view args = "f32[4]") {
  return log_of(std::string(kInc) + "func @f(mut %x: f32[..]) {\n" + body + "}\n", "f", args);
}

}  // namespace

TEST(Reinplace, AppendsToTwoHalvesOfOneBufferOver32LayersCopyNothing) {
  std::string text =
      "extern op \"kv.append\"(mut %k: f32[..], mut %v: f32[..], %x: f32[..], %i: i64)\n"
      "func @step(mut %cache: f32[32,2,16,8], %x: f32[8], %i: i64) {\n";
  for (int layer = 0; layer < 32; ++layer) {
    const std::string n = std::to_string(layer);
    text += "  %l" + n + " = select %cache {axis=0, index=" + n + "}\n  %k" + n + " = select %l" + n +
            " {axis=0, index=0}\n  %v" + n + " = select %l" + n + " {axis=0, index=1}\n  kv.append %k" + n + ", %v" +
            n + ", %x, %i\n  %r" + n + " = reduce_sum %k" + n + " {axes=[0]}\n";
  }
  const std::string log = log_of(text + "  ret %r31\n}\n", "step", "f32[32,2,16,8] f32[8] i64");
  std::string wanted;
  for (int layer = 0; layer < 32; ++layer)
    wanted += "auto_functionalized_v2 kv.append line " + std::to_string(6 + 5 * layer) +
              ": bases [0]; in place [0]; 0 bytes\n";
  EXPECT_EQ(log, wanted);
}

TEST(Reinplace, ReadsOfOtherPlacesAreNone) {
  EXPECT_EQ(of_body(R"(  %a = narrow %x {axis=0, start=0, length=2}
  %b = narrow %x {axis=0, start=2, length=2}
  %old = clone %b
  inc %a
  %r = neg %old
  ret %r
)"),
            "auto_functionalized_v2 inc line 6: bases [0]; in place [0]; 0 bytes\n");
}

TEST(Reinplace, WhatStandsInTheWay) {
  EXPECT_EQ(
      of_body(R"(  %old = clone %x
  inc %x
  %r = neg %old
  ret %r
)"),
      "auto_functionalized_v2 inc line 4: bases [0]; in place [0]; saved [0] %x: read later by neg line 5; 16 bytes\n");
  EXPECT_EQ(of_body(R"(  %old = clone %x
  inc %x
  ret %old
)"),
            "auto_functionalized_v2 inc line 4: bases [0]; in place [0]; saved [0] %x: read later: it is a result; 16 "
            "bytes\n");
  EXPECT_EQ(of_body(R"(  %old = clone %x
  inc %old
  ret %old
)"),
            "auto_functionalized_v2 inc line 4: bases [0]; in place []; missed [0] %x: read later: it is a result; 16 "
            "bytes\n");
  EXPECT_EQ(
      of_body(R"(  %t = transpose %x
  %y = view %t {shape=[2,2]}
  %v = select %y {axis=0, index=1}
  inc %v
  ret
)",
              "f32[2,2]"),
      R"(auto_functionalized_v2 inc line 6: bases [0]; in place []; missed [0] %x: is an input whose strides may be any; 16 bytes
)");
}

TEST(Reinplace, InplaceMakesARefusalAnError) {
  EXPECT_EQ(of_body(R"(  %old = clone %x
  inc %x {inplace=true}
  %r = neg %old
  ret %r
)"),
            "4: [inc] {inplace=true}: %x is read later by neg line 5, so 16 bytes would be copied");
}

TEST(Reinplace, WhatIsReadLaterIsSavedWhereTheOpWritesNoMore) {
  EXPECT_EQ(of_body(R"(  %old = clone %x
  %a = narrow %x {axis=0, start=1, length=2}
  inc %a
  %s = narrow %old {axis=0, start=2, length=1}
  %t = narrow %old {axis=0, start=3, length=1}
  %r = add %s, %t
  ret %r
)"),
            "auto_functionalized_v2 inc line 5: bases [0]; in place [0]; saved [0] %x: read later by add line 8; 8 "
            "bytes\n");
}

TEST(Reinplace, WhereNothingElseIsReadOneViewIsMadeAfresh) {
  EXPECT_EQ(log_of(std::string(kInc) + R"(func @f(%x: f32[4]) {
  %y = clone %x
  %a = narrow %y {axis=0, start=1, length=2}
  inc %a
  %r = neg %a
  ret %r
})",
                   "f", "f32[4]"),
            "auto_functionalized_v2 inc line 5: bases [0]; in place []; fresh [0] %x: is an input; 8 bytes\n");
}

TEST(Reinplace, BodiesOfLoopsWriteIntoTheirCarries) {
  EXPECT_EQ(of_body(R"(  for (;) {length=3} {
    inc %x
    yield
  }
  ret
)"),
            "auto_functionalized_v2 inc line 4: bases [0]; in place [0]; 0 bytes\n");
}

}  // namespace tfvm::test
