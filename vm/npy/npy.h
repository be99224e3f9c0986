#pragma once
// NumPy's array files. Format: numpy/lib/format.py, versions 1.0 to 3.0; archives (.npz) are ZIP files with stored
// entries (PKWARE APPNOTE 6.3.9, without ZIP64 and compression).
//
// dtypes map one to one; bf16, which NumPy has not, is written as its registered extension does: `<V2`. Big-endian,
// Fortran order, structured and object arrays are errors that name what was found. Headers are not trusted.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vm/tensor.h"

namespace tfvm {

// Code::Syntax where the bytes are no array file, Code::Unsupported for a dtype or order that has no counterpart.
Result<Tensor> parse_npy(std::span<const std::byte> file, const BudgetRef& budget = {});
std::vector<std::byte> to_npy(const Tensor& t);

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // names without .npy, in the order of the archive
Result<NamedTensors> parse_npz(std::span<const std::byte> file, const BudgetRef& budget = {});
Result<std::vector<std::byte>> to_npz(const NamedTensors& tensors);

// Files; Code::Io with the path. Writing goes to a file beside it, which is then renamed over it.
Result<std::vector<std::byte>> read_file(const std::string& path);
Status write_file(const std::string& path, std::span<const std::byte> bytes);
Result<Tensor> read_npy(const std::string& path, const BudgetRef& budget = {});
Status write_npy(const std::string& path, const Tensor& t);
Result<NamedTensors> read_npz(const std::string& path, const BudgetRef& budget = {});
Status write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace tfvm
