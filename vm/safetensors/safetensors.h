#pragma once
// The safetensors format (github.com/huggingface/safetensors, README, "Format"): 8 bytes with the length of a JSON
// header, the header, the elements of all tensors, row-major and little-endian, one behind the other without a gap.
//
// dtypes map one to one; complex128 has none there and is an error. Headers are not trusted: sizes, overlaps, gaps,
// names given twice and nesting are checked, so a damaged or hostile file is one clear error and reserves no more
// memory than it has bytes.

#include "vm/npy/npy.h"

namespace tfvm {

// In the order of their places in the file. Code::Syntax where the bytes are no such file, Code::Unsupported for a
// dtype that has no counterpart.
Result<NamedTensors> parse_safetensors(std::span<const std::byte> file, const BudgetRef& budget = {});
// Code::Type where two tensors have one name, Code::Unsupported for c128.
Result<std::vector<std::byte>> to_safetensors(const NamedTensors& tensors);

Result<NamedTensors> read_safetensors(const std::string& path, const BudgetRef& budget = {});
Status write_safetensors(const std::string& path, const NamedTensors& tensors);

}  // namespace tfvm
