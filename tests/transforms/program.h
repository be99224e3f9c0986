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

  TransformProgram() { env.derivatives = &program; }

  static std::string library(bool derivatives) {
    std::string all;
    for (const EmbeddedFile& f : stdlib::files())
      if (stdlib::is_rules(f) == derivatives) all += f.bytes;
    return all;
  }

  Status load(std::string_view text) {
    const std::pair<Space, std::string> parts[] = {
        {Space::Ops, library(false)}, {Space::Derivatives, library(true)}, {Space::User, std::string(text)}};
    for (const auto& [space, source] : parts) {
      Result<Module> m = parse_module(t.strings, source, space == Space::User ? "test" : "stdlib");
      if (!m) return m.error();
      if (Status s = program.load(std::move(*m), space); !s) return s;
    }
    return ok();
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
