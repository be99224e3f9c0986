#pragma once
// Tensors as numbers, for contracts: values to try, and what is near enough to be rounding alone.

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "bytecode/tables.h"
#include "vm/bisect/contracts.h"

namespace tfvm::numbers {

using MaybeTensor = std::optional<Tensor>;

// Floats between 0.3 and 0.9 (`which` 0) or 1.1 and 2.3, integers 1 or 0, bools of both kinds.
MaybeTensor fill(DType dtype, Dims dims, std::uint64_t seed, int which);
// Floats times a factor; all else stays.
MaybeTensor scaled(const Tensor& x, double factor);
// A tangent for x, of either sign and about as large as x, where that is more than 1.
MaybeTensor direction(const Tensor& x, std::uint64_t seed);
// x + step · tangent, where there is one.
std::vector<Tensor> moved(const std::vector<Tensor>& x, const std::vector<Tensor>& tangents, double step);
MaybeTensor stack(std::span<const Tensor> lanes);  // along a new leading dim
Tensor lane(const Tensor& x, std::int64_t k);

// The rounding of the narrowest float that `f` computes with, f32 or f64; 0 where there are others.
double epsilon(const Tables& t, FunctionId f);
// It needs nothing but its inputs: neither globals nor the host.
bool runs_alone(const Tables& t, FunctionId f);
bool has_op(const Tables& t, FunctionId f, std::initializer_list<OpKind> kinds);
// Rules of the user's own, or ops whose derivative is none of their values, or is anybody's choice: of what is written
// twice to a place.
bool has_own_derivative(const Tables& t, FunctionId f);

// The first element that is not the same up to rounding; where both are nan or inf they are.
std::optional<BrokenContract> difference(std::span<const Tensor> want, std::span<const Tensor> got);
// dy (no tensor: zero) beside central differences of y over steps h and h/4 to both sides. Elements count where the two
// differences are near each other.
std::optional<BrokenContract> slope_differs(const Tensor& y, const Tensor* const at[4], const Tensor& dy, double h,
                                            double epsilon);

// A sum of products, and of their sizes.
struct Product {
  double sum = 0, size = 0;
  bool add(const Tensor& a, const Tensor& b, double factor = 1);  // false: not two like float tensors
};
std::optional<BrokenContract> difference(const Product& want, const Product& got, double epsilon);

}  // namespace tfvm::numbers
