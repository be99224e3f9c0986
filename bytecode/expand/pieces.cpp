// Core ops that join, cut out or put back pieces along one axis.
#include <algorithm>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

Values expand_stack(ExpandCtx& c) {
  if (c.in.empty()) return expected(c, "stack", "at least one operand");
  std::int64_t axis = 0;
  if (!axis_of(c, "stack", get_int(c, Key::axis), rank(c, 0) + 1, axis)) return {};
  Values parts;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    if (dims(c, k) != dims(c, 0)) return expected(c, "stack", "operands of one shape");
    parts.push_back(reshape(c.b, c.in[k], inserted(dims(c, 0), axis, 1)));
  }
  return {concat(c.b, parts, axis)};
}

namespace {
Values cut(ExpandCtx& c, std::int64_t axis, Ints sizes) {
  Values out;
  std::int64_t start = 0;
  for (std::int64_t n : sizes) {
    out.push_back(slice(c.b, c.in[0], axis, start, start + n));
    start += n;
  }
  return out;
}

constexpr std::int64_t kMostPieces = 65536;  // results of one instruction

// Pieces of `size` along a dim of n, the last one smaller where it must be.
Shape even(std::int64_t n, std::int64_t size) {
  Shape out;
  for (std::int64_t start = 0; start < n; start += size) out.push_back(std::min(size, n - start));
  if (out.empty()) out.push_back(0);
  return out;
}
}  // namespace

// torch.split: sizes of the pieces, or one size for all.
Values expand_split(ExpandCtx& c) {
  std::int64_t axis = 0, sum = 0;
  if (!axis_of(c, "split", get_int(c, Key::axis), rank(c, 0), axis)) return {};
  const std::int64_t n = dims(c, 0)[at(axis)];
  const Attr sizes = attrs(c)[attrs(c).get(c.attrs, Key::sizes)];
  if (sizes.kind == AttrKind::Int && sizes.i > n / kMostPieces) return cut(c, axis, even(n, sizes.i));
  for (std::int64_t s : sizes.ints) sum = s < 0 || s > n - sum ? n + 1 : sum + s;
  if (sizes.kind != AttrKind::Ints || sum != n)
    return expected(c, "split", "sizes that add up to " + std::to_string(n) + ", or one size for at most 65536 pieces");
  return cut(c, axis, sizes.ints);
}

// torch.chunk: at most n pieces of equal size, the last one smaller where it must be.
Values expand_chunk(ExpandCtx& c) {
  std::int64_t axis = 0;
  const std::int64_t n = get_int(c, Key::n);
  if (!axis_of(c, "chunk", get_int(c, Key::axis), rank(c, 0), axis)) return {};
  if (n < 1 || n > kMostPieces) return expected(c, "chunk", "n between 1 and 65536");
  const std::int64_t size = dims(c, 0)[at(axis)];
  return cut(c, axis, size == 0 ? Shape(at(n), 0) : even(size, (size - 1) / n + 1));
}

Values expand_narrow(ExpandCtx& c) {
  std::int64_t axis = 0;
  if (!axis_of(c, "narrow", get_int(c, Key::axis), rank(c, 0), axis)) return {};
  const std::int64_t n = dims(c, 0)[at(axis)], length = get_int(c, Key::length);
  std::int64_t start = get_int(c, Key::start);
  if (start < 0) start += n;
  if (start < 0 || start > n || length < 0 || length > n - start)
    return expected(c, "narrow", "start and length within size " + std::to_string(n));
  return {slice(c.b, c.in[0], axis, start, start + length)};
}

namespace {
// {axis, index}, negative ones from the end.
bool place_of(ExpandCtx& c, std::string_view op, std::int64_t& axis, std::int64_t& index) {
  if (!axis_of(c, op, get_int(c, Key::axis), rank(c, 0), axis)) return false;
  const std::int64_t n = dims(c, 0)[at(axis)];
  index = get_int(c, Key::index);
  if (index < 0) index += n;
  if (index >= 0 && index < n) return true;
  expected(c, op, "an index within size " + std::to_string(n));
  return false;
}

ValueId write_at(ExpandCtx& c, ValueId u, std::int64_t axis, std::int64_t start) {
  Values operands{c.in[0], u};
  for (std::int64_t k = 0; k < rank(c, 0); ++k) operands.push_back(c.b.scalar_int(DType::I64, k == axis ? start : 0));
  return c.b.failed() ? kNoValue : c.b.emit(Op::dynamic_update_slice, operands, attrs(c).empty());
}
}  // namespace

Values expand_select(ExpandCtx& c) {
  std::int64_t axis = 0, index = 0;
  if (!place_of(c, "select", axis, index)) return {};
  Shape out = dims(c, 0);
  out.erase(out.begin() + axis);
  return {reshape(c.b, slice(c.b, c.in[0], axis, index, index + 1), out)};
}

Values expand_select_scatter(ExpandCtx& c) {
  std::int64_t axis = 0, index = 0;
  if (!place_of(c, "select_scatter", axis, index)) return {};
  Shape part = dims(c, 0);
  part.erase(part.begin() + axis);
  if (dims(c, 1) != part) return expected(c, "select_scatter", "an update of the shape of select");
  return {write_at(c, reshape(c.b, c.in[1], inserted(part, axis, 1)), axis, index)};
}

// torch.slice_scatter: bounds count from the end where negative, and are cut to the size.
Values expand_slice_scatter(ExpandCtx& c) {
  std::int64_t axis = 0;
  if (!axis_of(c, "slice_scatter", get_int(c, Key::axis), rank(c, 0), axis)) return {};
  const Shape d = dims(c, 0);
  const std::int64_t n = d[at(axis)], stride = get_int(c, Key::stride);
  const auto bound = [n](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + n : v, 0, n); };
  const std::int64_t start = bound(get_int(c, Key::start));
  const std::int64_t limit = std::max(start, has(c, Key::limit) ? bound(get_int(c, Key::limit)) : n);
  if (stride < 1) return expected(c, "slice_scatter", "a stride of at least 1");
  const std::int64_t length = (limit - start) / stride + ((limit - start) % stride != 0);
  const Shape part = with(d, axis, length);
  if (dims(c, 1) != part) return expected(c, "slice_scatter", "an update of the shape of the slice");
  if (stride == 1) return {write_at(c, c.in[1], axis, start)};
  const ValueId steps = iota(c.b, DType::I64, part, axis);
  const ValueId places = c.b.emit(
      Op::add, {c.b.emit(Op::mul, {steps, c.b.scalar_int(DType::I64, stride)}), c.b.scalar_int(DType::I64, start)});
  return {c.b.emit(Op::scatter_along, {c.in[0], places, c.in[1]}, {{Key::axis, axis}, {Key::mode, "clip"}})};
}

// The elements of row-major x at offset + Σ index·stride, replaced; of equal places the last one wins.
Values expand_as_strided_scatter(ExpandCtx& c) {
  const Ints shape = get_ints(c, Key::shape), strides = get_ints(c, Key::strides);
  const std::int64_t n = c.b.tables().types.elements(c.b.type(c.in[0]));
  if (shape.size() != strides.size() || !std::ranges::equal(c.b.dims(c.in[1]), shape))
    return expected(c, "as_strided_scatter", "an update of the shape, and one stride for each dim");
  const std::int64_t count = c.b.tables().types.elements(c.b.type(c.in[1]));
  if (count == 0) return {c.in[0]};
  std::int64_t last = get_int(c, Key::offset);
  bool inside = last >= 0;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    std::int64_t reach = 0;
    inside = inside && strides[k] >= 0 && !__builtin_mul_overflow(shape[k] - 1, strides[k], &reach) &&
             !__builtin_add_overflow(last, reach, &last);
  }
  if (!inside || last >= n) return expected(c, "as_strided_scatter", "places within the storage of the first operand");
  const ValueId places = strided_places(c.b, shape, strides, get_int(c, Key::offset));
  const Shape row{count}, flat{n}, d = dims(c, 0);
  const ValueId out =
      c.b.emit(Op::scatter_along, {reshape(c.b, c.in[0], flat), reshape(c.b, places, row), reshape(c.b, c.in[1], row)},
               {{Key::axis, 0}, {Key::mode, "clip"}});
  return {reshape(c.b, out, d)};
}

}  // namespace tfvm
