#pragma once
// Custom ops of the host: a kernel for an `extern op` that programs declare.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/externs.h"
#include "vm/tensor.h"

namespace tfvm {

class Context;

// The argument for one declared parameter: one tensor, several of a list, or none.
struct CustomArg {
  std::vector<Tensor> tensors;
  bool is_none() const { return tensors.empty(); }
  const Tensor& operator*() const { return tensors.front(); }
  const Tensor* operator->() const { return &tensors.front(); }
};

struct TensorType {
  DType dtype = DType::F32;
  std::vector<std::int64_t> dims;
};
using CustomArgType = std::vector<TensorType>;  // as CustomArg

struct CustomOp {
  // Reads the arguments, writes into those that are declared `mut`, and fills `results`, which are row-major and fresh.
  // Arguments may share memory with each other where the program's do. An error becomes that of the call.
  std::function<Status(std::span<const CustomArg> args, std::span<const Tensor> results)> kernel;
  // Result types where the declaration's don't tell them. Null: by the declaration.
  std::function<Result<std::vector<TensorType>>(std::span<const CustomArgType> args)> shape;
  // The kernel takes any strides. Else it is given row-major arguments: what isn't goes through a temporary, and those
  // of `mut` parameters are copied back in the order of the parameters.
  bool strided = false;
  ExternRules rules;  // that the declaration doesn't tell
};
using CustomOpRef = std::shared_ptr<const CustomOp>;
using CustomOps = std::unordered_map<std::string, CustomOpRef>;  // by name

// ExternInfo::infer by the op's shape function.
using ExternInfer = decltype(ExternInfo::infer);
ExternInfer by_shape_function(CustomOpRef op);

// A mut argument that the kernel can't take as it lies, and the row-major copy that it is given.
struct CustomBack {
  Tensor to, from;
};

// Runs the kernel on `args`, which it may replace; `mut` says per parameter whether it is written. Code::Type where
// such an argument has elements that share a place. `back` is memory to work in.
Status run_custom(const CustomOp& op, std::string_view name, std::span<CustomArg> args,
                  std::span<const std::uint8_t> mut, std::span<const Tensor> results, const Context& context,
                  std::vector<CustomBack>& back);

}  // namespace tfvm
