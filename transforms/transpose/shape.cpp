// Ops that move elements, and sums, which move them back.
#include <algorithm>

#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

ValueId reshape(Builder& b, ValueId v, Ints shape) { return b.emit(Op::reshape, {v}, {{Key::shape, shape}}); }

}  // namespace

void transpose_reshape(TransposeCtx& c) { c.add(0, reshape(c.b, c.ct(), c.dims(0))); }

// Sum over the dims that were new or grew.
void transpose_broadcast_to(TransposeCtx& c) {
  const Dims from = c.dims(0), to = c.b.dims(c.ct());
  const std::size_t lead = to.size() - from.size();
  List axes;
  for (std::size_t d = 0; d < to.size(); ++d)
    if (d < lead || (from[d - lead] == 1 && to[d] != 1)) axes.push_back(static_cast<std::int64_t>(d));
  const ValueId sum = c.b.emit(Op::reduce_sum, {c.ct()}, {{Key::axes, Ints(axes)}});
  c.add(0, reshape(c.b, sum, from));
}

void transpose_transpose(TransposeCtx& c) {
  const Ints perm = c.attrs().get_ints(c.in.attrs, Key::perm);
  List inverse(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d)
    inverse[static_cast<std::size_t>(perm[d])] = static_cast<std::int64_t>(d);
  c.add(0, c.b.emit(Op::transpose, {c.ct()}, {{Key::perm, Ints(inverse)}}));
}

// Back to its place among zeros.
void transpose_slice(TransposeCtx& c) {
  if (c.b.failed()) return;
  const Ints start = c.attrs().get_ints(c.in.attrs, Key::start), stride = c.attrs().get_ints(c.in.attrs, Key::stride);
  const Dims from = c.dims(0), to = c.b.dims(c.ct());
  List low(start.begin(), start.end()), high, interior;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t covered = to[d] == 0 ? 0 : (to[d] - 1) * stride[d] + 1;
    high.push_back(from[d] - start[d] - covered);
    interior.push_back(stride[d] - 1);
  }
  c.add(0, c.b.emit(Op::pad, {c.ct(), c.b.scalar(c.b.dtype(c.ct()), 0)},
                    {{Key::low, Ints(low)}, {Key::high, Ints(high)}, {Key::interior, Ints(interior)}}));
}

namespace {

// What pad put of x into a value of pad's result: trims low and high, takes every (interior + 1)-th.
ValueId unpad(TransposeCtx& c, ValueId v) {
  const AttrTable& at = c.attrs();
  List low, high, stride, start(c.dims(0).size(), 0);
  for (std::int64_t n : at.get_ints(c.in.attrs, Key::low)) low.push_back(-n);
  for (std::int64_t n : at.get_ints(c.in.attrs, Key::high)) high.push_back(-n);
  for (std::int64_t n : at.get_ints(c.in.attrs, Key::interior)) stride.push_back(n + 1);
  if (c.b.failed()) return kNoValue;
  const ValueId zero = c.b.splat(c.tables().types.scalar(c.b.dtype(v)), 0);
  const ValueId trimmed = c.b.emit(Op::pad, {v, zero}, {{Key::low, Ints(low)}, {Key::high, Ints(high)}});
  if (c.b.failed()) return kNoValue;
  return c.b.emit(Op::slice, {trimmed},
                  {{Key::start, Ints(start)}, {Key::limit, c.b.dims(trimmed)}, {Key::stride, Ints(stride)}});
}

}  // namespace

void transpose_pad(TransposeCtx& c) {
  if (c.is_linear(0)) c.add(0, unpad(c, c.ct()));
  if (!c.is_linear(1) || c.b.failed()) return;
  // The sum over what is no element of x: found by padding flags the same way.
  const TypeId flags = c.tables().types.tensor(DType::Bool, c.dims(0));
  const ValueId is_x = c.b.splat(flags, 1), is_pad = c.b.splat(c.tables().types.scalar(DType::Bool), 0);
  const ValueId mask = c.b.emit(Op::pad, std::vector{is_x, is_pad}, c.in.attrs);
  const ValueId rest = c.b.emit(Op::select, {mask, c.b.scalar(c.b.dtype(c.ct()), 0), c.ct()});
  c.add(1, c.b.emit(Op::reduce_sum, {rest}));
}

void transpose_concat(TransposeCtx& c) {
  if (c.b.failed()) return;
  const auto axis = static_cast<std::size_t>(c.attrs().get_int(c.in.attrs, Key::axis));
  const Dims whole = c.b.dims(c.ct());
  List start(whole.size(), 0), limit(whole.begin(), whole.end());
  std::int64_t at = 0;
  for (std::size_t k = 0; k < c.in.operands.size(); ++k) {
    start[axis] = at;
    limit[axis] = at += c.dims(k)[axis];
    if (c.is_linear(k)) c.add(k, c.b.emit(Op::slice, {c.ct()}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}}));
  }
}

void transpose_reverse(TransposeCtx& c) { c.add(0, c.b.emit(Op::reverse, std::vector{c.ct()}, c.in.attrs)); }

void transpose_reduce_sum(TransposeCtx& c) {
  List shape(c.dims(0).begin(), c.dims(0).end());
  for (std::int64_t a : c.attrs().get_ints(c.in.attrs, Key::axes)) shape[static_cast<std::size_t>(a)] = 1;
  c.add(0, c.b.emit(Op::broadcast_to, {reshape(c.b, c.ct(), shape)}, {{Key::shape, c.dims(0)}}));
}

void transpose_cumsum(TransposeCtx& c) {
  AttrTable& at = c.tables().attrs;
  const bool reverse = at.get_bool(c.in.attrs, Key::reverse);
  c.add(0, c.b.emit(Op::cumsum, std::vector{c.ct()}, at.with(c.in.attrs, Key::reverse, at.of(!reverse))));
}

}  // namespace tfvm
