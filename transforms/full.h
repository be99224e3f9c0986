#pragma once
// Transforms of full functions (language.md, section 5): functionalize, transform, and write the new values of mut
// inputs, params and buffers back.
//
//   func @f(mut %x, %y) -> %r      becomes, with F = functionalize(@f): (%x, %y) -> (%r, %x'),
//   func T(@f)(mut %x, …) { %g…, %x' = call T(F)(%x, …)   copy_ %x, %x'   ret %g… }

#include "transforms/env.h"

namespace tfvm {

// As TransformTable::make_of_full and ::functionalize.
Result<FunctionId> make_of_full(TransformEnv& env, const TransformRow& row, CalleeRef& callee, AttrId attrs,
                                std::span<const TypeId> args);
Result<FunctionId> functionalize_transform(TransformEnv& env, FunctionId f);
TransformRow functionalize_row();

}  // namespace tfvm
