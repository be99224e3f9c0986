#pragma once
// Tensors as literals of the language: `f32[2,3] [[1, 2, 3], [4, 5, 6]]` reads back to the same bits.

#include <string>
#include <string_view>

#include "bytecode/literal.h"
#include "vm/tensor.h"

namespace tfvm {

struct PrintOptions {
  bool full = false;  // else tensors of more than `threshold` elements show `edge` items at either end of a dim
  std::int64_t threshold = 200;
  std::int64_t edge = 3;
};

inline std::string print_element(DType dtype, const std::byte* element) { return element_text(dtype, element); }
// `[[…], …]`, or the element alone for a scalar.
std::string print_literal(const Tensor& t, const PrintOptions& options = {});
// Type and literal.
std::string print(const Tensor& t, const PrintOptions& options = {});

// Reads what print writes in full; elements are written as in bytecode/literal.h. Without a leading type: bool for true
// and false, i64 where no number has a point or an exponent, else f32, with the nesting as the shape. Code::Syntax with
// the place in the text.
Result<Tensor> parse_tensor(std::string_view text, const BudgetRef& budget = {});
// Reads a literal, with or without its type, as a value of this type.
Result<Tensor> parse_tensor_as(std::string_view text, DType dtype, Dims dims, const BudgetRef& budget = {});

}  // namespace tfvm
