// Diagonals and triangles. In a row-major matrix of m columns a diagonal is every (m+1)-th element: a strided slice
// takes it out, a pad between elements puts it in.
#include <algorithm>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

namespace {
// The diagonal of an n × m matrix with n, m > 0 or not: its length and first element.
struct Diagonal {
  std::int64_t length, first;
  Diagonal(std::int64_t n, std::int64_t m, std::int64_t offset) {
    const std::int64_t rows = offset < 0 ? n + std::max(offset, -n) : n;
    const std::int64_t columns = offset > 0 ? m - std::min(offset, m) : m;
    length = std::min(rows, columns);
    first = length == 0 ? 0 : offset >= 0 ? offset : -offset * m;
  }
};

// x[…, n, m] -> its diagonals […, length].
ValueId take_diagonal(Builder& b, ValueId x, std::int64_t offset) {
  if (x == kNoValue) return x;
  Shape d(b.dims(x).begin(), b.dims(x).end());
  const std::int64_t m = d.back(), n = d[d.size() - 2], last = static_cast<std::int64_t>(d.size()) - 2;
  const Diagonal diagonal(n, m, offset);
  d.pop_back();
  d.back() = n * m;
  const std::int64_t limit = diagonal.length == 0 ? 0 : diagonal.first + (diagonal.length - 1) * (m + 1) + 1;
  return slice(b, reshape(b, x, d), last, diagonal.first, limit, m + 1);
}

// u[…, length] -> […, n, m], zero off the diagonal.
ValueId put_diagonal(Builder& b, ValueId u, std::int64_t n, std::int64_t m, std::int64_t offset) {
  if (u == kNoValue) return u;
  Shape d(b.dims(u).begin(), b.dims(u).end());
  const Diagonal diagonal(n, m, offset);
  Shape low(d.size(), 0), high = low, interior = low;
  const std::int64_t covered = diagonal.length == 0 ? 0 : (diagonal.length - 1) * (m + 1) + 1;
  low.back() = diagonal.first;
  high.back() = n * m - diagonal.first - covered;
  interior.back() = diagonal.length == 0 ? 0 : m;
  const ValueId zero = b.scalar(b.dtype(u), 0.0);
  const ValueId flat =
      b.emit(Op::pad, {u, zero}, {{Key::low, Ints(low)}, {Key::high, Ints(high)}, {Key::interior, Ints(interior)}});
  d.back() = n;
  d.push_back(m);
  return reshape(b, flat, d);
}

// row − column compared with −offset, over the last two dims of `shape`: `eq` on, `le` above, `ge` below the diagonal.
ValueId diagonal_mask(Builder& b, Op compare, Ints shape, std::int64_t offset) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const ValueId row = iota(b, DType::I64, shape, rank - 2), column = iota(b, DType::I64, shape, rank - 1);
  return b.emit(compare, {b.emit(Op::add, {row, b.scalar_int(DType::I64, offset)}), column});
}

// Two distinct axes.
bool plane_of(ExpandCtx& c, std::string_view op, Shape& axes) {
  if (rank(c, 0) < 2) {
    expected(c, op, "at least two dims");
    return false;
  }
  const Shape given{get_int(c, Key::axis1), get_int(c, Key::axis2)};
  return axes_of(c, op, given, rank(c, 0), axes);
}

// The order that brings two dims to the end.
Shape plane_last(std::int64_t rank, const Shape& axes) { return moved(rank, axes, Shape{rank - 2, rank - 1}); }
}  // namespace

// numpy.diagonal: the diagonal's dim stands last.
Values expand_diagonal(ExpandCtx& c) {
  Shape axes;
  if (!plane_of(c, "diagonal", axes)) return {};
  const ValueId x = transpose(c.b, c.in[0], plane_last(rank(c, 0), axes));
  return {take_diagonal(c.b, x, get_int(c, Key::offset))};
}

Values expand_diagonal_scatter(ExpandCtx& c) {
  Shape axes;
  if (!plane_of(c, "diagonal_scatter", axes)) return {};
  const Shape order = plane_last(rank(c, 0), axes), d = dims(c, 0);
  Shape shape;
  for (std::int64_t k : order) shape.push_back(d[at(k)]);
  const std::int64_t n = shape[shape.size() - 2], m = shape.back(), offset = get_int(c, Key::offset);
  Shape part(shape.begin(), shape.end() - 2);
  part.push_back(Diagonal(n, m, offset).length);
  if (dims(c, 1) != part) return expected(c, "diagonal_scatter", "an update of the shape of the diagonal");
  const ValueId mask = diagonal_mask(c.b, Op::eq, shape, offset);
  const ValueId x = transpose(c.b, c.in[0], order);
  return {transpose(c.b, c.b.emit(Op::select, {mask, put_diagonal(c.b, c.in[1], n, m, offset), x}), inverse(order))};
}

// numpy.diag: a vector onto the k-th diagonal of a square matrix, or a matrix's k-th diagonal.
Values expand_diag(ExpandCtx& c) {
  const std::int64_t k = get_int(c, Key::k);
  if (rank(c, 0) == 2) return {take_diagonal(c.b, c.in[0], k)};
  if (rank(c, 0) != 1) return expected(c, "diag", "a vector or a matrix");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (k < -kMost || k > kMost) return expected(c, "diag", "a matrix that fits into memory");
  const std::int64_t n = dims(c, 0)[0] + std::abs(k);
  if (times(c, "diag", n, n) == 0 && c.b.failed()) return {};
  return {put_diagonal(c.b, c.in[0], n, n, k)};
}

namespace {
Values triangle(ExpandCtx& c, std::string_view op, Op compare) {
  if (rank(c, 0) < 2) return expected(c, op, "at least two dims");
  const ValueId mask = diagonal_mask(c.b, compare, dims(c, 0), get_int(c, Key::k));
  return {c.b.emit(Op::select, {mask, c.in[0], c.b.zeros(c.b.type(c.in[0]))})};
}
}  // namespace

// numpy.tril, numpy.triu: the elements on and below (above) the k-th diagonal, others 0.
Values expand_tril(ExpandCtx& c) { return triangle(c, "tril", Op::ge); }
Values expand_triu(ExpandCtx& c) { return triangle(c, "triu", Op::le); }

Values expand_trace(ExpandCtx& c) {
  Shape axes;
  if (!plane_of(c, "trace", axes)) return {};
  const ValueId x = transpose(c.b, c.in[0], plane_last(rank(c, 0), axes));
  const ValueId diagonal = take_diagonal(c.b, x, get_int(c, Key::offset));
  const Shape last{rank(c, 0) - 2};
  return {c.b.emit(Op::reduce_sum, {diagonal}, {{Key::axes, Ints(last)}})};
}

Values expand_eye(ExpandCtx& c) {
  const std::int64_t n = get_int(c, Key::n), m = has(c, Key::m) ? get_int(c, Key::m) : n;
  if (n < 0 || m < 0) return expected(c, "eye", "n and m of at least 0");
  return {cast(c.b, diagonal_mask(c.b, Op::eq, Shape{n, m}, 0), attrs(c).get_dtype(c.attrs, Key::dtype))};
}

}  // namespace tfvm
