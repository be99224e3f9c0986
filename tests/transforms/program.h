#pragma once
// A program from text with the stdlib and the table of transforms around it, for the tests of passes.

#include <memory>
#include <string>

#include "bytecode/elaborate/program.h"
#include "bytecode/text/parse.h"
#include "stdlib/embedded.h"
#include "tests/bytecode/harness.h"
#include "transforms/env.h"
#include "transforms/rows.h"

namespace tfvm::test {

struct TransformProgram {
  Tables t;
  TransformEnv env{.tables = t, .options = {}};
  TransformTable rows = transform_table(env);
  Program program{t, {.builder = {}, .transforms = &rows}};
  std::vector<std::unique_ptr<ParsedCallee>> callees;

  TransformProgram() {
    env.derivatives = &program;
    for (const EmbeddedFile& f : stdlib::files())
      program.library(stdlib::is_rules(f) ? Space::Derivatives : Space::Ops)
          .add("stdlib/" + std::string(f.name), f.bytes);
  }

  Status load(std::string_view text) {
    Result<Module> m = parse_module(t.strings, text, "test");
    if (!m) return m.error();
    return program.load(std::move(*m));
  }

  // "grad(@f, argnums=[1])" for argument types "f64[3] f64".
  Result<FunctionId> function(std::string_view callee, std::string_view argument_types) {
    Result<ParsedCallee> parsed = parse_callee(t.strings, callee);
    if (!parsed) return parsed.error();
    callees.push_back(std::make_unique<ParsedCallee>(std::move(*parsed)));
    Result<Callee*> c = program.callee(callees.back()->pools, callees.back()->callee);
    if (!c) return c.error();
    return (*c)->instantiate(types(t, argument_types));
  }
};

}  // namespace tfvm::test
