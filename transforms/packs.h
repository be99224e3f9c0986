#pragma once
// Derivatives in two calls that a pack joins: linearize and lin, fwd and bwd; and aot, the function that carries both.
// A pack's type names the jvp that it comes from, so the second call finds what the first one made.

#include "transforms/compositions.h"

namespace tfvm {

// (primals…) -> (outputs…, pack), by all float inputs.
Result<FunctionId> linearize_transform(TransformEnv& env, FunctionId f);
// (inputs…) -> (outputs…, pack), by the inputs in argnums.
Result<FunctionId> fwd_transform(TransformEnv& env, FunctionId f, const DerivParams& p);

// What a pack was made of; Code::Type where it is no pack of linearize or fwd.
struct PackOrigin {
  FunctionId f;
  Mask active;  // inputs that it can be differentiated by
};
Result<PackOrigin> pack_origin(TransformEnv& env, TypeId pack);

// (pack, tangents…) -> output tangents; zeros where an output does not depend on them.
Result<FunctionId> lin_transform(TransformEnv& env, TypeId pack);
// (pack, cotangents of the float outputs…) -> gradients, in the order of argnums.
Result<FunctionId> bwd_transform(TransformEnv& env, TypeId pack, const DerivParams& p);

// The same signature; one call with fwd and bwd as its own rules.
Result<FunctionId> aot_transform(TransformEnv& env, FunctionId f);

}  // namespace tfvm
