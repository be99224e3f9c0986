#pragma once
// Steps that expansions share. A step on kNoValue gives kNoValue, so that after a failure only shapes that an expansion
// reads itself need a look at b.failed().

#include <string>

#include "bytecode/expand/core.h"

namespace tfvm {
std::vector<ValueId> expand_diagonal(ExpandCtx&);
}

namespace tfvm::expand {

using Shape = std::vector<std::int64_t>;
using Values = std::vector<ValueId>;

inline std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
inline AttrTable& attrs(ExpandCtx& c) { return c.b.tables().attrs; }
inline std::int64_t get_int(ExpandCtx& c, Key k) { return attrs(c).get_int(c.attrs, k); }
inline Ints get_ints(ExpandCtx& c, Key k) { return attrs(c).get_ints(c.attrs, k); }
inline bool has(ExpandCtx& c, Key k) { return attrs(c).has(c.attrs, k); }
inline Shape dims(ExpandCtx& c, std::size_t k) {
  const Dims d = c.b.dims(c.in[k]);
  return {d.begin(), d.end()};
}
inline std::int64_t rank(ExpandCtx& c, std::size_t k) { return c.b.rank(c.in[k]); }

// Fails with "[op] expected WHAT, got f32[3,4]"; gives no results.
Values expected(ExpandCtx& c, std::string_view op, const std::string& what);

// Places within a rank, negative ones from the end; false after a failure.
bool axis_of(ExpandCtx& c, std::string_view op, std::int64_t given, std::int64_t rank, std::int64_t& out);
bool axes_of(ExpandCtx& c, std::string_view op, Ints given, std::int64_t rank, Shape& out);  // distinct, order kept
// A list of n integers; none stands for n times `fill`.
bool list_of(ExpandCtx& c, std::string_view op, Key key, std::size_t n, std::int64_t fill, Shape& out);

// a·b; fails where it exceeds 2^62, and gives 0.
std::int64_t times(ExpandCtx& c, std::string_view op, std::int64_t a, std::int64_t b);

ValueId reshape(Builder& b, ValueId x, Ints shape);  // in full bodies, where only views are expanded: a view
ValueId broadcast(Builder& b, ValueId x, Ints shape);
ValueId transpose(Builder& b, ValueId x, Ints perm);
// x[…, start:limit:stride, …] along one axis.
ValueId slice(Builder& b, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t limit,
              std::int64_t stride = 1);
ValueId concat(Builder& b, std::span<const ValueId> xs, std::int64_t axis);
ValueId reverse(Builder& b, ValueId x, Ints axes);
ValueId iota(Builder& b, DType dtype, Ints shape, std::int64_t axis);
ValueId cast(Builder& b, ValueId x, DType dtype);
// offset + Σ index·stride for each index of `shape`.
ValueId strided_places(Builder& b, Ints shape, Ints strides, std::int64_t offset);
// The order that brings dim `from` to place `to`, others kept; for transpose.
Shape moved(std::int64_t rank, Ints from, Ints to);
Shape inverse(Ints perm);
// dims with one dim replaced or inserted.
Shape with(Shape d, std::int64_t axis, std::int64_t size);
Shape inserted(Shape d, std::int64_t axis, std::int64_t size);

}  // namespace tfvm::expand
