// Ops of full programs: views and writes. Types are those of row-major values; storage is the interpreter's concern.
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

// A write gives its first operand.
bool infer_written(InferCtx& c) {
  c.out.push_back(c.in[0]);
  return true;
}

// `write {op="add"} x, y`: an elementwise op whose result has the type of its first operand.
bool infer_write(InferCtx& c) {
  const std::optional<Op> op = find_op(c.t.attrs.get_str(c.attrs, Key::op));
  if (!op || !is_elementwise(*op)) return c.fail("expected an elementwise op");
  std::vector<TypeId> out;
  InferCtx inner{c.t, *op, c.in, c.t.attrs.empty(), out, {}};
  if (!info(*op).attrs.empty() || !info(*op).infer(inner))
    return c.fail("expected an op without attributes that fits its operands, got " + infer::types(c));
  if (out[0] != c.in[0])
    return c.fail("expected a result of the shape and dtype of the first operand, got " + c.t.types.text(out[0]) +
                  " for " + infer::types(c));
  return infer_written(c);
}

bool infer_squeeze(InferCtx& c) {
  const Dims dims = c.dims(0);
  Shape axes;
  if (!c.has(Key::axes)) {
    for (std::int64_t k = 0; k < infer::ssize(dims); ++k)
      if (dims[at(k)] == 1) axes.push_back(k);
    c.set(Key::axes, Ints(axes));
  } else if (!infer::sorted_places(c, Key::axes, infer::ssize(dims), axes)) {
    return false;
  }
  for (std::int64_t a : axes)
    if (dims[at(a)] != 1) return infer::expect(c, "size 1 at axes " + infer::text(axes));
  return c.push(c.dtype(0), infer::without(dims, axes));
}

bool infer_unsqueeze(InferCtx& c) {
  if (!normalise_axis(c, Key::axis, infer::ssize(c.dims(0)) + 1)) return false;
  Shape out = infer::copy(c.dims(0));
  out.insert(out.begin() + c.get_int(Key::axis), 1);
  return c.push(c.dtype(0), out);
}

// What lies outside of the storage is found where the storage is known.
bool infer_as_strided(InferCtx& c) {
  const Ints shape = c.get_ints(Key::shape), strides = c.get_ints(Key::strides);
  if (shape.size() != strides.size() || c.get_int(Key::offset) < 0)
    return c.fail("expected one stride for each dim and an offset of at least 0, got shape=" + infer::text(shape) +
                  ", strides=" + infer::text(strides));
  return c.push(c.dtype(0), shape);
}

// numpy.diagonal: the diagonal's dim stands last.
bool infer_diagonal(InferCtx& c) {
  const std::int64_t rank = infer::ssize(c.dims(0));
  if (rank < 2) return infer::expect(c, "at least two dims");
  if (!normalise_axis(c, Key::axis1, rank) || !normalise_axis(c, Key::axis2, rank)) return false;
  const Shape axes{c.get_int(Key::axis1), c.get_int(Key::axis2)};
  if (axes[0] == axes[1]) return infer::expect(c, "distinct axes");
  const std::int64_t n = c.dims(0)[at(axes[0])], m = c.dims(0)[at(axes[1])], offset = c.get_int(Key::offset);
  const std::int64_t rows = offset < 0 ? n + std::max(offset, -n) : n,
                     columns = offset > 0 ? m - std::min(offset, m) : m;
  Shape out = infer::without(c.dims(0), axes);
  out.push_back(std::min(rows, columns));
  return c.push(c.dtype(0), out);
}

// As torch: the last dim takes up the change of width.
bool infer_view_dtype(InferCtx& c) {
  const DType to = c.t.attrs.get_dtype(c.attrs, Key::dtype);
  const std::int64_t from_size = size_of(c.dtype(0)), to_size = size_of(to);
  Shape out = infer::copy(c.dims(0));
  if (from_size != to_size) {
    if (out.empty() || out.back() * from_size % to_size != 0)
      return c.fail("expected a last dim that holds whole elements of " + std::string(name(to)) + ", got " +
                    infer::types(c));
    out.back() = out.back() * from_size / to_size;
  }
  return c.push(to, out);
}

// Windows of one dim; the window's dim stands last.
bool infer_unfold(InferCtx& c) {
  if (!normalise_axis(c, Key::axis, infer::ssize(c.dims(0)))) return false;
  Shape out = infer::copy(c.dims(0));
  std::int64_t& n = out[at(c.get_int(Key::axis))];
  const std::int64_t size = c.get_int(Key::size), step = c.get_int(Key::step);
  if (size < 0 || size > n || step < 1)
    return c.fail("expected a size of at most " + std::to_string(n) + " and a step of at least 1, got size=" +
                  std::to_string(size) + ", step=" + std::to_string(step) + " for " + infer::types(c));
  n = (n - size) / step + 1;
  out.push_back(size);
  return c.push(c.dtype(0), out);
}

}  // namespace tfvm
