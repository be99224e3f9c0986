#pragma once
// The Jacobian of a stencil by its diagonals: where each element of a value depends on a few elements of the inputs at
// fixed offsets, its derivatives are a few arrays of its own shape, found by one pass, with no directions pushed.
//
//   func @f(%x: f64[9]) { %a = slice %x {start=[1], limit=[9]}  %b = slice %x {start=[0], limit=[8]}  %y = mul %a, %b }
//   diagonals of %y: offset 0 (by x[i]): %a; offset 1 (by x[i+1]): %b
//
// It is forward accumulation (A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 3) whose
// tangents are diagonals: elementwise ops take each by their jvp rule; slice, pad and concat move offsets.

#include "transforms/env.h"

namespace tfvm {

// Of a result: element i of `value`, which has its dims, is its derivative at place i by element i + offset of the
// input. What would be beyond the input is to be passed over.
struct Diagonal {
  std::size_t result = 0, input = 0;  // of the function
  std::vector<std::int64_t> offset;   // one per dim
  ValueId value = kNoValue;
};

struct Stencil {
  FunctionId f;                     // (inputs…) -> (results…, diagonals…)
  std::vector<Diagonal> diagonals;  // by result, input and offset, ascending; without values
};

// The function with its diagonals by the inputs in `active`. nullopt: it is no stencil, or some value has more than
// `most` diagonals.
std::optional<Stencil> stencil(TransformEnv& env, FunctionId f, const Mask& active, std::size_t most);

// Appends it to a builder whose parent is the function that it was made of; gives its results, and the diagonals their
// values.
std::vector<ValueId> append(Builder& b, Stencil& s, std::span<const ValueId> args);

// All diagonals flat and end to end.
ValueId end_to_end(Builder& b, std::span<const Diagonal> diagonals);

// Of a diagonal, element for element, where it stands in the matrix of all elements of its result by those of its
// input, row-major; `outside` where the input has no such element.
std::vector<std::int64_t> places_in_matrix(const Diagonal& d, Dims result, Dims input, std::int64_t outside);

}  // namespace tfvm
