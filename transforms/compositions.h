#pragma once
// The derivative transforms of language.md, section 4, on typed functions. Tangents and cotangents of the surface are
// written out, zeros included; inputs and outputs that are not differentiable have none. `argnums` are places of
// inputs; gradients follow their order. With `has_aux`, only the first output is differentiated and the others follow.
// Jacobians run one lane for each unit vector: `chunk_size` lanes at a time, draws as `randomness` says; where aux
// differs between lanes it is that of the first. jacrev runs the function once, so its draws are drawn once.
// jacfwd of a stencil (sparse/stencil.h) with few diagonals has no lanes.

#include <optional>

#include "transforms/vmap/axis.h"

namespace tfvm {

struct DerivParams {
  std::vector<std::int64_t> argnums{0};
  bool has_aux = false;
  std::size_t leading = 1;  // with has_aux: how many outputs are differentiated (1 but within hessian)
  std::optional<std::int64_t> chunk_size;
  Randomness randomness = Randomness::Same;
};

// (primals…, tangents…) -> (outputs…, output tangents…); has_aux: (output, its tangent, aux…).
Result<FunctionId> jvp_transform(TransformEnv& env, FunctionId f, bool has_aux);
// (primals…, cotangents…) -> (outputs…, input cotangents…); has_aux: (output, input cotangents…, aux…).
Result<FunctionId> vjp_transform(TransformEnv& env, FunctionId f, bool has_aux);
// (inputs…) -> (gradients…, aux…), with_value: (value, aux…, gradients…). Errors: the output is no float scalar, or
// there are several without has_aux; an argnum that is no input or not differentiable.
Result<FunctionId> grad_transform(TransformEnv& env, FunctionId f, const DerivParams& p, bool with_value);
// (inputs…) -> for each output, for each argnum, out shape + in shape; has_aux: of the first output, then aux….
Result<FunctionId> jacfwd_transform(TransformEnv& env, FunctionId f, const DerivParams& p);
Result<FunctionId> jacrev_transform(TransformEnv& env, FunctionId f, const DerivParams& p);
// = jacfwd(jacrev(f)), then aux….
Result<FunctionId> hessian_transform(TransformEnv& env, FunctionId f, const DerivParams& p);
// (inputs…, a vector for each argnum…) -> (value, aux…, Hessian · vectors…).
Result<FunctionId> hvp_transform(TransformEnv& env, FunctionId f, const DerivParams& p);

// Flags of the inputs in argnums, which must be differentiable. `what` names the transform in errors.
Result<Mask> active_inputs(const Tables& t, std::span<const TypeId> params, std::span<const std::int64_t> argnums,
                           std::string_view what);

}  // namespace tfvm
