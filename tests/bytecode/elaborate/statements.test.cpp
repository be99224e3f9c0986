// Tests are built statement by statement on one set of values.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

TEST(Statements, AFailureSpoilsNothingBehindIt) {
  const std::vector<std::string> out = Loaded(R"(
    func @f(%x: f32[2]) {
      %y = reshape %x {shape=[3]}
      ret %y
    }
    test "t" {
      %a = clone [1, 2] : f32[2]
      %b = call @f(%a)
      %c = add %b, 1
      %d, %e = if true { yield %a, 1 } else { yield %a, 2 }
      %f = scan (%c = %e;) {length=2} { %g = add %c, %e
        yield %g; }
    })")
                                           .test();
  ASSERT_EQ(out.size(), 5u);
  EXPECT_EQ(out[0], "f32[2]");
  EXPECT_TRUE(out[1].starts_with("3: [reshape]")) << out[1];
  EXPECT_EQ(out[2], "9: %b has no value here: it is not defined, or what defines it failed");
  EXPECT_EQ(out[3], "f32[2] i64");
  EXPECT_EQ(out[4], "i64");
}

TEST(Statements, InputsAreTheValuesUsedInOrderOfFirstUse) {
  Loaded p(R"(
    param @w: f32 = 1
    test "t" {
      %a = clone 1.0
      %b = clone 2.0
      %c = add %b, @w
      %d = if true { %e = mul %b, %a
        yield %e } else { yield %c }
    })");
  const Module& m = p.program.module();
  std::map<Local, TypeId> known;
  std::vector<std::vector<std::string>> inputs;
  for (const Stmt& s : Module::at(m.stmts, m.blocks[m.tests[0].block].stmts)) {
    Result<Step> step = p.program.step(
        m.tests[0], s, [&](Local l) { return known.contains(l) ? std::optional(known[l]) : std::nullopt; });
    ASSERT_TRUE(step) << Loaded::describe(step.error());
    std::vector<std::string> names;
    for (const GlobalUse& g : step->globals) names.push_back("@" + std::string(p.tables->strings[g.name]));
    for (StrId n : step->input_names) names.push_back(std::string(p.tables->strings[n]));
    inputs.push_back(names);
    known[s.first_local] = p.tables->body(step->function).result_types()[0];
  }
  EXPECT_EQ(inputs, (std::vector<std::vector<std::string>>{{}, {}, {"@w", "b"}, {"b", "a", "c"}}));
}

TEST(Statements, NothingIsFoldedAndExpectationsStandOnlyInTests) {
  Loaded p("test \"t\" {\n%a = add 1, 2\n}\nfunc @f() {\nexpect_eq 1, 1\nret\n}");
  const Module& m = p.program.module();
  Result<Step> step = p.program.step(m.tests[0], m.stmts[m.blocks[m.tests[0].block].stmts.begin],
                                     [](Local) -> std::optional<TypeId> { return std::nullopt; });
  ASSERT_TRUE(step);
  EXPECT_EQ(p.tables->body(step->function).num_instrs(), 3u);
  EXPECT_EQ(p.function("f"), "5: expect_eq stands only in a test");
}

}  // namespace tfvm::test
