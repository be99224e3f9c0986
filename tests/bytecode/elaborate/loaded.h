#pragma once
// A program from text, its functions as text, its errors as text.

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "bytecode/elaborate/program.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print_body.h"
#include "tests/bytecode/harness.h"

namespace tfvm::test {

struct Loaded {
  std::unique_ptr<Tables> tables = std::make_unique<Tables>();
  Program program;
  std::string load_error;

  // `stdlib` outlives it.
  explicit Loaded(std::string_view text, std::string_view stdlib = {}, const TransformTable* transforms = nullptr)
      : program(*tables, {{}, transforms}) {
    program.library(Space::Ops).add("test.tfa", stdlib);
    add(text);
  }

  static std::string describe(const Error& e) {
    std::string s = std::to_string(e.loc.line) + ": " + e.message;
    for (const std::string& n : e.notes) s += "; " + n;
    return s;
  }

  // The instance of @name for these argument types ("f32[2] i64") and all it reaches, or the error.
  std::string function(std::string_view name, std::string_view args = {}) {
    if (!load_error.empty()) return load_error;
    Result<Callee*> f = program.function(name);
    if (!f) return describe(f.error());
    Result<FunctionId> made = (*f)->instantiate(types(*tables, args));
    return made ? "\n" + print_function(*tables, *made, {.types = false}) : describe(made.error());
  }

  // What the statements of the only test give: types of their results, or the error. Expectations give their operands.
  std::vector<std::string> test() {
    if (!load_error.empty()) return {load_error};
    std::vector<std::string> out;
    std::map<Local, TypeId> known;
    const auto look = [&](Local l) { return known.contains(l) ? std::optional(known[l]) : std::nullopt; };
    const Module& m = program.module();
    for (const Stmt& s : Module::at(m.stmts, m.blocks[m.tests[0].block].stmts)) {
      const bool expects = s.kind == StmtKind::Op && tables->strings[s.op].starts_with("expect_");
      Result<Step> step = Step{};
      if (expects) {
        Result<Expectation> e = program.expectation(m.tests[0], s, look);
        step = e ? Result<Step>(e->step) : Result<Step>(e.error());
      } else {
        step = program.step(m.tests[0], s, look);
      }
      if (!step) {
        out.push_back(describe(step.error()));
        continue;
      }
      const std::vector<TypeId> results = tables->body(step->function).result_types();
      for (std::uint32_t k = 0; k < s.results.count; ++k) known[s.first_local + k] = results[k];
      out.push_back(text(*tables, results));
    }
    return out;
  }

 private:
  void add(std::string_view text) {
    Result<Module> m = parse_module(tables->strings, text, "test.tfa");
    if (!m) {
      load_error = describe(m.error());
      return;
    }
    if (Status s = program.load(std::move(*m)); !s) load_error = describe(s.error());
  }
};

inline std::string instance(std::string_view text, std::string_view name, std::string_view args = {}) {
  return Loaded(text).function(name, args);
}

}  // namespace tfvm::test
