// What full functions do to their inputs, and what their outputs are.
#include "functionalize/input_output.h"

#include "tests/functionalize/made.h"

namespace tfvm::test {

namespace {

std::string io_of(std::string_view program, std::string_view name, std::string_view args) {
  Loaded p(program);
  if (!p.load_error.empty()) return p.load_error;
  Result<Callee*> f = p.program.function(name);
  if (!f) return Loaded::describe(f.error());
  const Result<FunctionId> full = (*f)->instantiate(types(*p.tables, args));
  if (!full) return Loaded::describe(full.error());
  const Result<InputOutput> io = input_output(*p.tables, *full, {});
  return io ? text(*p.tables, *io) : Loaded::describe(io.error());
}

}  // namespace

TEST(InputOutput, OutputsThatAreInputsOrViewsOfThem) {
  EXPECT_EQ(io_of(R"(
    func @f(mut %x: f32[2,3], %y: f32[3]) {
      %t = transpose %x {perm=[1,0]}
      mul_ %t, 2.0
      %r = select %t {axis=0, index=1}
      %s = add %y, 1.0
      ret %t, %r, %x, %y, %s
    })",
                  "f", "f32[2,3] f32[3]"),
            R"(input 0 %x f32[2,3]: written back after
input 1 %y f32[3]: not written
output 0 f32[3,2]: view of %x by transpose {perm=[1, 0]}
output 1 f32[2]: view of %x by transpose {perm=[1, 0]}, slice {start=[1, 0], limit=[2, 2], stride=[1, 1]}, view {shape=[2]}
output 2 f32[2,3]: is %x
output 3 f32[3]: is %y
output 4 f32[3]: fresh
)");
}

TEST(InputOutput, OutputsThatShareAnIntermediate) {
  EXPECT_EQ(io_of(R"(
    func @f(%x: f32[4]) {
      %a = clone %x
      add_ %a, 1.0
      %h = narrow %a {axis=0, start=0, length=2}
      %b = clone %x
      %g = narrow %b {axis=0, start=2, length=2}
      ret %a, %h, %g
    })",
                  "f", "f32[4]"),
            R"(input 0 %x f32[4]: not written
output 0 f32[4]: is intermediate 0
output 1 f32[2]: view of intermediate 0 by slice {start=[0], limit=[2], stride=[1]}
output 2 f32[2]: fresh
)");
}

TEST(InputOutput, ParamsAndBuffers) {
  EXPECT_EQ(io_of(R"(
    param @w: f32[2]
    buffer @n: i64
    func @f(%x: f32[2]) {
      add_ @n, 1
      %y = mul %x, @w
      %h = narrow @w {axis=0, start=1, length=1}
      ret %y, %h
    })",
                  "f", "f32[2]"),
            R"(@w f32[2]: not written
@n i64: written back after
input 0 %x f32[2]: not written
output 0 f32[2]: fresh
output 1 f32[1]: view of @w by slice {start=[1], limit=[2], stride=[1]}
)");
}

TEST(InputOutput, CustomOpsWriteInTheGraph) {
  EXPECT_EQ(io_of(R"(
    extern op "inc"(mut %z: f32[..])
    func @f(mut %x: f32[4], mut %y: f32[4], mut %z: f32[4]) {
      inc %x
      %old = clone %y
      inc %y
      copy_ %z, %z
      ret %old
    })",
                  "f", "f32[4] f32[4] f32[4]"),
            R"(input 0 %x f32[4]: written in the graph
input 1 %y f32[4]: written in the graph
input 2 %z f32[4]: not written
output 0 f32[4]: fresh
)");
}

TEST(InputOutput, CoreFunctionsAndErrors) {
  EXPECT_EQ(io_of("func @f(%x: f32[4]) {\n  ret %x\n}\n", "f", "f32[4]"),
            "input 0 %x f32[4]: not written\noutput 0 f32[4]: fresh\n");
  EXPECT_EQ(io_of(R"(
    func @f(mut %x: f32[2,3]) {
      %t = transpose %x
      %v = view %t {shape=[6]}
      add_ %v, 1.0
      ret
    })",
                  "f", "f32[2,3]")
                .substr(0, 30),
            "4: [view] the strides [1, 3] o");
}

TEST(InputOutput, WhatDependsOnLayout) {
  const auto use = [](std::string_view body) {
    Loaded p("func @f(mut %x: f32[2,3]) {\n" + std::string(body) + "  ret\n}\n");
    const Result<FunctionId> f = (*p.program.function("f"))->instantiate(types(*p.tables, "f32[2,3]"));
    const LayoutUse u = layout_use(*p.tables, *f);
    return std::pair(u.strides, u.storage);
  };
  EXPECT_EQ(use("  %r = select %x {axis=0, index=1}\n  add_ %r, 1.0\n"), std::pair(false, false));
  EXPECT_EQ(use("  %r = view %x {shape=[6]}\n  add_ %r, 1.0\n"), std::pair(true, false));
  EXPECT_EQ(use("  %r = as_strided %x {shape=[2], strides=[1], offset=0}\n  add_ %r, 1.0\n"), std::pair(false, true));
}

}  // namespace tfvm::test
