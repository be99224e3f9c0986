#pragma once
// A full function from text, made functional, as text.

#include "functionalize/functionalize.h"
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

// functionalize(@name) for these argument types and all it reaches, or the error.
inline std::string functional(std::string_view text, std::string_view name, std::string_view args, bool v1 = false) {
  Loaded p(text);
  if (!p.load_error.empty()) return p.load_error;
  Result<Callee*> f = p.program.function(name);
  if (!f) return Loaded::describe(f.error());
  Result<FunctionId> full = (*f)->instantiate(types(*p.tables, args));
  if (!full) return Loaded::describe(full.error());
  Result<FunctionId> made = functionalize(*p.tables, *full, {{}, v1});
  return made ? "\n" + print_function(*p.tables, *made, {.types = false}) : Loaded::describe(made.error());
}

}  // namespace tfvm::test
