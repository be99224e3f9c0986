#pragma once
// One link of a view chain: a view op on a value of `from`, as a function on values and with its inverse.

#include "bytecode/builder.h"
#include "functionalize/strided.h"

namespace tfvm::functional {

struct View {
  Op op;         // a view op, metadata ops as the view that they are
  AttrId attrs;  // of its row, normalised
  TypeId from, to;
  friend bool operator==(const View&, const View&) = default;
};
using Chain = std::vector<View>;  // base first

// The link that an instruction of a full body is (bytecode/aliasing.h).
View view_of(Tables& t, const Instr& in, TypeId from, TypeId to);

// What the view of x is, as a fresh value.
ValueId forward(Builder& b, const View& v, ValueId x);

// x with what the view of it holds replaced by u: select_scatter of select, and so on. The view must not overlap
// itself. Fails with Code::Unsupported for a view that nothing can be put back through (real, imag).
ValueId inverse(Builder& b, const View& v, ValueId x, ValueId u, bool inplace);

// How the elements of the view lie over the storage of a row-major base: Code::Type where the strides don't allow the
// view, or where as_strided leaves the storage of `elements`.
Result<Strided> lie(const Tables& t, const View& v, const Strided& x, std::int64_t elements);

}  // namespace tfvm::functional
