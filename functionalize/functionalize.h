#pragma once
// A full function as a core one: no write and no alias is left (language.md, section 5).
//
//   func @f(mut %x: f32[4]) {                func functionalize(@f)(%x: f32[4]) -> (f32[2], f32[4]) {
//     %v = narrow %x {start=1, length=2}       %v  = slice %x {start=[1], limit=[3]}
//     %w = mul_ %v, 2                          %w  = mul %v, 2
//     ret %v                                   %x1 = dynamic_update_slice %x, %w, 1
//   }                                          ret %w, %x1
//                                            }

#include "bytecode/builder.h"
#include "bytecode/elaborate/globals.h"

namespace tfvm {

struct FunctionalizeOptions {
  BuilderOptions builder;
  bool v1 = false;  // custom ops become auto_functionalized, where no two written arguments share a base
};

// Outputs, then the new values of mut parameters in order, then those of written params and buffers in order of
// declaration. A core function is itself. Views are taken of row-major inputs that share no storage; what the strides
// of such a view don't allow, what leaves its storage, and a write into elements that overlap are errors.
Result<FunctionId> functionalize(Tables& t, FunctionId f, const FunctionalizeOptions& options);

// The same with the written params and buffers as parameters, so that reinplace may write into them:
// (written globals…, inputs…) -> (outputs…, new globals…, new inputs…); globals in order of declaration.
struct LiftedFunction {
  FunctionId f;
  std::vector<GlobalUse> globals;
  std::vector<std::uint32_t> written;  // parameters that the last results are the new values of, in order
};
Result<LiftedFunction> functionalize_lifted(Tables& t, FunctionId f, const FunctionalizeOptions& options);

// The params and buffers that f, or what it calls, writes: numbers in order of declaration.
std::vector<std::uint32_t> written_globals(const Tables& t, FunctionId f);

}  // namespace tfvm
