#pragma once
// The rows jacobian_sparsity, jac_sparse and hess_sparse of the table of transforms.

#include "bytecode/transform_table.h"

namespace tfvm {

std::vector<TransformRow> sparse_rows();

}  // namespace tfvm
