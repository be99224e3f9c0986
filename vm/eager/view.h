#pragma once
// Views at run time: ops of full programs whose result shares its operand's storage. No element is touched.

#include <string>

#include "bytecode/ops/op.h"
#include "bytecode/tables.h"
#include "vm/tensor.h"

namespace tfvm {

// An instruction's view, copied out of the tables. Metadata writes (transpose_ …) are views too.
struct ViewOp {
  Op op = Op::alias;
  DType dtype = DType::F32;                 // view_dtype, real, imag
  std::vector<std::int64_t> dims;           // of the result
  std::vector<std::int64_t> first;          // perm; start; strides
  std::vector<std::int64_t> second, third;  // limit, stride
  std::int64_t axis = 0, axis2 = 0, offset = 0, step = 1;
};

// transpose, slice, broadcast_to, real, imag (of complex), the rows of views, the metadata writes.
bool gives_view(Op op);
// Of attributes in the op's normalised form; `result` is the type of the result.
ViewOp view_op(const Tables& t, Op op, AttrId attrs, TypeId result);

// Code::Type "[view] …" where the strides don't allow it, "[as_strided] …" where it would leave the storage,
// "[view_dtype] …" where the elements don't stand as the wider dtype needs them.
Result<Tensor> view_of(const ViewOp& v, const Tensor& x);

// Do two elements stand at one place? Exact.
bool overlaps_itself(const Layout& x);
// May elements of both stand at one place? By the bytes between their first and last elements.
bool may_overlap(const Tensor& a, const Tensor& b);

}  // namespace tfvm
