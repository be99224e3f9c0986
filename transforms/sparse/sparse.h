#pragma once
// Sparse derivatives: the pattern of a Jacobian by a pass over the code, and its elements by compressed evaluation.
// Rows are the elements of all float outputs, columns those of the inputs in argnums, in order, each row-major.

#include "transforms/compositions.h"
#include "transforms/sparse/coloring.h"

namespace tfvm {

// Errors: as of jacfwd.
Result<SparsePattern> jacobian_pattern(TransformEnv& env, FunctionId f, const DerivParams& p);

// () -> (indptr i64[m+1], indices i64[nnz]); `params` are leading, unused parameters of the function made.
Result<FunctionId> jacobian_sparsity_transform(TransformEnv& env, FunctionId f, const DerivParams& p,
                                               std::span<const TypeId> params);
// (inputs…) -> elements [nnz] in the order of the pattern: one jvp for each color of columns or one vjp for each color
// of rows, whichever are fewer, as one batch. Errors: outputs (or inputs in argnums) of more than one dtype.
Result<FunctionId> jac_sparse_transform(TransformEnv& env, FunctionId f, const DerivParams& p);
// The same of the gradient, whose Jacobian is symmetric: a jvp of the gradient for each color of a star coloring.
Result<FunctionId> hess_sparse_transform(TransformEnv& env, FunctionId f, const DerivParams& p);

// What the last two leave in the memo under ("sparse_passes", result): numbers = {passes, nonzeros, 1 where by rows}.
// They report the same to the listener of category "sparse".
inline constexpr std::string_view kSparsePasses = "sparse_passes";

}  // namespace tfvm
