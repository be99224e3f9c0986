#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

std::vector<std::int64_t> prefixed(std::int64_t first, Ints rest) {
  std::vector<std::int64_t> v{first};
  v.insert(v.end(), rest.begin(), rest.end());
  return v;
}

}  // namespace

void batch_reshape(BatchCtx& c) {
  const auto shape = prefixed(c.axis.size, c.attrs().get_ints(c.in.attrs, Key::shape));
  c.push(c.b.emit(Op::reshape, {c.x[0]}, {{Key::shape, Ints(shape)}}));
}

// broadcast_to, and full of a batched value.
void batch_broadcast_to(BatchCtx& c) {
  const Ints lane = c.attrs().get_ints(c.in.attrs, Key::shape);
  const ValueId v = c.align(c.x[0], lane.size());
  const auto shape = prefixed(c.axis.size, lane);
  c.push(c.b.emit(Op::broadcast_to, {v}, {{Key::shape, Ints(shape)}}));
}

void batch_transpose(BatchCtx& c) {
  std::vector<std::int64_t> perm{0};
  for (std::int64_t p : c.attrs().get_ints(c.in.attrs, Key::perm)) perm.push_back(p + 1);
  c.push(c.b.emit(Op::transpose, {c.x[0]}, {{Key::perm, Ints(perm)}}));
}

void batch_slice(BatchCtx& c) {
  const auto start = prefixed(0, c.attrs().get_ints(c.in.attrs, Key::start));
  const auto limit = prefixed(c.axis.size, c.attrs().get_ints(c.in.attrs, Key::limit));
  const auto stride = prefixed(1, c.attrs().get_ints(c.in.attrs, Key::stride));
  c.push(c.b.emit(Op::slice, {c.x[0]},
                  {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}, {Key::stride, Ints(stride)}}));
}

// A value per lane: pad with zeros, and select by where the elements of x went.
void batch_pad(BatchCtx& c) {
  Builder& b = c.b;
  const auto low = prefixed(0, c.attrs().get_ints(c.in.attrs, Key::low));
  const auto high = prefixed(0, c.attrs().get_ints(c.in.attrs, Key::high));
  const auto interior = prefixed(0, c.attrs().get_ints(c.in.attrs, Key::interior));
  const auto pad = [&](ValueId x, ValueId value) {
    return b.emit(Op::pad, {x, value},
                  {{Key::low, Ints(low)}, {Key::high, Ints(high)}, {Key::interior, Ints(interior)}});
  };
  const ValueId x = c.with_batch(0);
  if (!c.batched[1]) return c.push(pad(x, c.x[1]));
  if (b.failed()) return c.push(kNoValue);
  const ValueId zero = b.scalar(b.dtype(x), 0);
  const TypeId mask = c.t().types.tensor(DType::Bool, b.dims(x));
  const ValueId from_x = pad(b.splat(mask, 1), b.scalar(DType::Bool, 0));
  const ValueId padded = pad(x, zero);
  if (b.failed()) return c.push(kNoValue);
  c.push(b.emit(Op::select, {from_x, padded, c.align(c.x[1], static_cast<std::size_t>(b.rank(padded) - 1))}));
}

void batch_concat(BatchCtx& c) {
  std::vector<ValueId> xs;
  for (std::size_t k = 0; k < c.x.size(); ++k) xs.push_back(c.with_batch(k));
  c.emit(xs, c.shift_axis(Key::axis));
}

void batch_axes(BatchCtx& c) { c.emit(c.x, c.shift_axes(Key::axes)); }

void batch_axis(BatchCtx& c) {
  std::vector<ValueId> xs;
  for (std::size_t k = 0; k < c.x.size(); ++k) xs.push_back(c.with_batch(k));
  c.emit(xs, c.shift_axis(Key::axis));
}

}  // namespace tfvm
