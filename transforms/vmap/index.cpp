// Slices, updates and lookups at computed places. With places that differ from lane to lane the array is seen flat, and
// one take_along or scatter_along with flat positions does the work.
#include <algorithm>

#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

std::int64_t product(Dims d) {
  std::int64_t n = 1;
  for (std::int64_t v : d) n *= v;
  return n;
}

ValueId reshape(Builder& b, ValueId v, std::initializer_list<std::int64_t> shape) {
  return b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape.begin(), shape.size())}});
}

std::vector<std::int64_t> with_first(std::int64_t first, Dims rest) {
  std::vector<std::int64_t> v{first};
  v.insert(v.end(), rest.begin(), rest.end());
  return v;
}

// i64[B, product(window)]: flat positions in an array of `dims` of the window whose clamped start is given per dim.
ValueId flat_positions(BatchCtx& c, Dims dims, Dims window, std::size_t first_start) {
  Builder& b = c.b;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t stride = product(dims);
  ValueId sum = kNoValue;
  const auto shape = with_first(c.axis.size, window);
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto k = static_cast<std::size_t>(d);
    stride = dims[k] == 0 ? 0 : stride / dims[k];
    ValueId start = b.emit(Op::cast, {c.with_batch(first_start + k)}, {{Key::dtype, DType::I64}});
    start = b.emit(Op::clamp, {b.scalar_int(DType::I64, 0), start, b.scalar_int(DType::I64, dims[k] - window[k])});
    std::vector<std::int64_t> column(shape.size(), 1);
    column[0] = c.axis.size;
    start = b.emit(Op::reshape, {start}, {{Key::shape, Ints(column)}});
    const ValueId step =
        b.emit(Op::iota, {}, {{Key::shape, Ints(shape)}, {Key::axis, d + 1}, {Key::dtype, DType::I64}});
    ValueId place = b.emit(Op::add, {step, start});
    place = b.emit(Op::mul, {place, b.scalar_int(DType::I64, stride)});
    sum = sum == kNoValue ? place : b.emit(Op::add, {sum, place});
  }
  if (sum == kNoValue) {
    const std::int64_t column[] = {c.axis.size, 1};
    if (b.failed()) return kNoValue;
    return b.splat(c.t().types.tensor(DType::I64, Ints(column)), 0);
  }
  return reshape(b, sum, {c.axis.size, product(window)});
}

bool any_from(std::span<const std::uint8_t> flags, std::size_t first) {
  return std::any_of(flags.begin() + static_cast<std::ptrdiff_t>(first), flags.end(), [](auto f) { return f != 0; });
}

}  // namespace

void batch_dynamic_slice(BatchCtx& c) {
  Builder& b = c.b;
  const Ints sizes = c.attrs().get_ints(c.in.attrs, Key::sizes);
  const auto wide = with_first(c.axis.size, sizes);
  if (!any_from(c.batched, 1)) {
    std::vector<ValueId> operands(c.x.begin(), c.x.end());
    const ValueId zero = c.x.size() > 1 ? b.scalar_int(b.dtype(c.x[1]), 0) : b.scalar_int(DType::I64, 0);
    operands.insert(operands.begin() + 1, zero);
    return c.emit(operands, c.t().attrs.dict({{Key::sizes, Ints(wide)}}));
  }
  const Dims dims = c.lane_dims(0);
  const ValueId at = flat_positions(c, dims, sizes, 1);
  const ValueId lanes = reshape(b, c.with_batch(0), {c.axis.size, product(dims)});
  const ValueId flat =
      c.batched[0] ? b.emit(Op::take_along, {lanes, at}, {{Key::axis, 1}, {Key::mode, "clip"}})
                   : b.emit(Op::take, {reshape(b, c.x[0], {product(dims)}), at}, {{Key::axis, 0}, {Key::mode, "clip"}});
  c.push(b.emit(Op::reshape, {flat}, {{Key::shape, Ints(wide)}}));
}

void batch_dynamic_update_slice(BatchCtx& c) {
  Builder& b = c.b;
  const Dims dims = c.lane_dims(0), window = c.lane_dims(1);
  const ValueId x = c.with_batch(0), u = c.with_batch(1);
  if (!any_from(c.batched, 2)) {
    std::vector<ValueId> operands{x, u,
                                  c.x.size() > 2 ? b.scalar_int(b.dtype(c.x[2]), 0) : b.scalar_int(DType::I64, 0)};
    operands.insert(operands.end(), c.x.begin() + 2, c.x.end());
    return c.emit(operands, c.in.attrs);
  }
  const ValueId at = flat_positions(c, dims, window, 2);
  const ValueId flat =
      b.emit(Op::scatter_along,
             {reshape(b, x, {c.axis.size, product(dims)}), at, reshape(b, u, {c.axis.size, product(window)})},
             {{Key::axis, 1}, {Key::combine, "set"}, {Key::mode, "clip"}});
  const auto wide = with_first(c.axis.size, dims);
  c.push(b.emit(Op::reshape, {flat}, {{Key::shape, Ints(wide)}}));
}

// take x[pre…, n, post…] idx[i…] -> [pre…, i…, post…].
void batch_take(BatchCtx& c) {
  Builder& b = c.b;
  const std::int64_t axis = c.attrs().get_int(c.in.attrs, Key::axis);
  if (!c.batched[1]) return c.emit(c.x, c.shift_axis(Key::axis));
  const Dims dims = c.lane_dims(0), idx = c.lane_dims(1);
  const auto a = static_cast<std::size_t>(axis);
  if (!c.batched[0]) {  // [pre…, B, i…, post…]: the batch dim moves to the front
    const ValueId v = b.emit(Op::take, c.x, c.in.attrs);
    if (b.failed()) return c.push(kNoValue);
    std::vector<std::int64_t> perm{axis};
    for (std::int64_t d = 0; d < b.rank(v); ++d)
      if (d != axis) perm.push_back(d);
    return c.push(b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}}));
  }
  // Both: along the axis, with the places repeated over pre and post.
  std::vector<std::int64_t> thin(dims.size() + 1, 1), wide = with_first(c.axis.size, dims),
                                                      result = with_first(c.axis.size, dims.first(a));
  thin[0] = c.axis.size;
  thin[a + 1] = wide[a + 1] = product(idx);
  result.insert(result.end(), idx.begin(), idx.end());
  result.insert(result.end(), dims.begin() + static_cast<std::ptrdiff_t>(a) + 1, dims.end());
  const ValueId column = b.emit(Op::reshape, {c.x[1]}, {{Key::shape, Ints(thin)}});
  const ValueId places = b.emit(Op::broadcast_to, {column}, {{Key::shape, Ints(wide)}});
  const AttrId mode = c.attrs().get(c.in.attrs, Key::mode);
  const ValueId v = b.emit(Op::take_along, {c.x[0], places}, {{Key::axis, axis + 1}, {Key::mode, mode}});
  c.push(b.emit(Op::reshape, {v}, {{Key::shape, Ints(result)}}));
}

void batch_along(BatchCtx& c) {
  std::vector<ValueId> all;
  for (std::size_t k = 0; k < c.x.size(); ++k) all.push_back(c.with_batch(k));
  c.emit(all, c.shift_axis(Key::axis));
}

}  // namespace tfvm
