// Running reductions. The tangents of each obey a linear recurrence s_i = a_i s_(i-1) + b_i along the axis, which is
// solved by doubling (Hillis & Steele 1986): log2 n rounds of elementwise ops, so every further transform applies.
#include <algorithm>

#include "transforms/jvp/recurrence.h"
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

using Axis = RunningAxis;

Axis axis_of(JvpCtx& c) {
  const std::int64_t axis = c.attrs().get_int(c.in.attrs, Key::axis);
  return {axis, c.b.dims(c.x[0])[static_cast<std::size_t>(axis)], c.attrs().get_bool(c.in.attrs, Key::reverse)};
}

ValueId as(Builder& b, ValueId predicate, DType dtype) { return b.emit(Op::cast, {predicate}, {{Key::dtype, dtype}}); }

}  // namespace

ValueId shift(Builder& b, const RunningAxis& a, ValueId v, std::int64_t by, double fill) {
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> low(static_cast<std::size_t>(b.rank(v)), 0), high(low);
  low[static_cast<std::size_t>(a.axis)] = a.reverse ? -by : by;
  high[static_cast<std::size_t>(a.axis)] = a.reverse ? by : -by;
  return b.emit(Op::pad, {v, b.scalar(b.dtype(v), fill)}, {{Key::low, Ints(low)}, {Key::high, Ints(high)}});
}

ValueId recurrence(Builder& b, const RunningAxis& axis, ValueId a, ValueId s, Op times) {
  for (std::int64_t step = 1; step < axis.length && !b.failed(); step *= 2) {
    s = b.emit(Op::add, {b.emit(Op::zmul, {a, shift(b, axis, s, step, 0)}), s});
    if (2 * step < axis.length) a = b.emit(times, {a, shift(b, axis, a, step, 1)});
  }
  return s;
}

// y_i = x_i y_(i-1): dy_i = x_i dy_(i-1) + y_(i-1) dx_i.
void jvp_cumprod(JvpCtx& c) {
  const Axis a = axis_of(c);
  const ValueId before = shift(c.b, a, c.y[0], 1, 1);
  c.dy[0] = recurrence(c.b, a, c.x[0], c.b.emit(Op::zmul, {before, c.t[0]}));
}

// The elements so far that equal the running extremum share its tangent equally: sums and counts start again wherever
// the extremum changes.
void jvp_cumextremum(JvpCtx& c) {
  Builder& b = c.b;
  const Axis a = axis_of(c);
  const DType dtype = b.dtype(c.x[0]);
  const ValueId goes_on = as(b, b.emit(Op::eq, {shift(b, a, c.y[0], 1, 0), c.y[0]}), dtype);
  const ValueId hit = as(b, b.emit(Op::eq, {c.x[0], c.y[0]}), dtype);
  const ValueId n = recurrence(b, a, goes_on, hit);
  const ValueId sum = recurrence(b, a, goes_on, b.emit(Op::zmul, {hit, c.t[0]}));
  c.dy[0] = b.emit(Op::zmul, {b.emit(Op::reciprocal, {n}), sum});
}

// dy_i = exp(y_(i-1) - y_i) dy_(i-1) + exp(x_i - y_i) dx_i; where y_i = -inf, all is 0.
void jvp_cumlogsumexp(JvpCtx& c) {
  Builder& b = c.b;
  const Axis a = axis_of(c);
  const ValueId y = c.y[0];
  if (b.failed()) return;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const ValueId empty = b.emit(Op::eq, {y, b.scalar(b.dtype(y), -kInf)});
  const ValueId finite = b.emit(Op::select, {empty, b.scalar(b.dtype(y), 0), y});
  const ValueId decay = b.emit(Op::exp, {b.emit(Op::sub, {shift(b, a, y, 1, -kInf), finite})});
  const ValueId weight = b.emit(Op::exp, {b.emit(Op::sub, {c.x[0], finite})});
  c.dy[0] = recurrence(b, a, decay, b.emit(Op::zmul, {weight, c.t[0]}));
}

}  // namespace tfvm
