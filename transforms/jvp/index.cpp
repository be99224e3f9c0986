// Lookups and updates at computed places: the places have no tangent.
#include <algorithm>

#include "transforms/index_places.h"
#include "transforms/jvp/recurrence.h"
#include "transforms/jvp/rules.h"

namespace tfvm {

void jvp_take(JvpCtx& c) {
  const bool fills = c.attrs().get_str(c.in.attrs, Key::mode) == "fill";
  AttrTable& at = c.tables().attrs;
  const AttrId attrs = fills ? at.with(c.in.attrs, Key::mode, at.of("clip")) : c.in.attrs;
  const ValueId places[] = {c.t[0], c.x[1]};
  c.dy[0] = c.b.emit(c.in.op, places, attrs);
  if (!fills || c.b.failed()) return;
  const std::int64_t axis = c.attrs().get_int(c.in.attrs, Key::axis);
  const std::int64_t n = c.b.dims(c.x[0])[static_cast<std::size_t>(axis)];
  ValueId inside = places_inside(c.b, c.x[1], n);
  if (c.in.op == Op::take) inside = align_places(c.b, inside, axis, c.b.rank(c.x[0]));
  c.dy[0] = c.b.emit(Op::select, {inside, c.dy[0], c.b.scalar(c.b.dtype(c.dy[0]), 0)});
}

// Which windows are inside is found by looking up flags.
void jvp_gather(JvpCtx& c) {
  if (c.b.failed()) return;
  AttrTable& at = c.tables().attrs;
  const bool fills = at.get_str(c.in.attrs, Key::mode) == "fill";
  const AttrId attrs = fills ? at.with(c.in.attrs, Key::mode, at.of("clip")) : c.in.attrs;
  c.dy[0] = c.b.emit(Op::gather, std::vector{c.t[0], c.x[1]}, attrs);
  if (!fills || c.b.failed()) return;
  const ValueId flags = c.b.splat(c.tables().types.tensor(DType::Bool, c.b.dims(c.x[0])), 1);
  const ValueId inside = c.b.emit(Op::gather, std::vector{flags, c.x[1]}, c.in.attrs);
  c.dy[0] = c.b.emit(Op::select, {inside, c.dy[0], c.b.scalar(c.b.dtype(c.dy[0]), 0)});
}

namespace {

ValueId flat(Builder& b, ValueId v) {
  const std::int64_t all[] = {-1};
  return b.emit(Op::reshape, {v}, {{Key::shape, Ints(all)}});
}

// max, min: the elements of x and u that equal the result share its tangent equally. A NaN of x stays one, whatever
// comes, and keeps its tangent.
void jvp_scatter_extremum(JvpCtx& c, const Update& up) {
  Builder& b = c.b;
  const DType dtype = b.dtype(c.x[0]);
  const auto hits = [&](ValueId v, ValueId y) {
    return b.emit(Op::cast, {b.emit(Op::eq, {v, y})}, {{Key::dtype, dtype}});
  };
  const ValueId of_x = hits(c.x[0], c.y[0]), of_u = hits(c.x[2], up.read(c.y[0]));
  const ValueId n = up.write(of_x, of_u, "add");
  const ValueId sum = up.write(b.emit(Op::zmul, {of_x, c.tangent(0)}), b.emit(Op::zmul, {of_u, c.tangent(2)}), "add");
  const ValueId shared = b.emit(Op::zmul, {b.emit(Op::reciprocal, {n}), sum});
  c.dy[0] = b.emit(Op::select, {b.emit(Op::isnan, {c.x[0]}), c.tangent(0), shared});
}

// mul: the updates sorted by place, stably, are one sequence per place, p_i = u_i p_(i-1) from x on; its tangents obey
// dp_i = u_i dp_(i-1) + p_(i-1) du_i. Both are recurrences that a factor 0 starts anew, so zeros are no special case.
void jvp_scatter_mul(JvpCtx& c, const Update& up) {
  Builder& b = c.b;
  const ValueId places = flat(b, up.numbers());
  const ValueId order = b.emit(Op::argsort, {places}, {{Key::axis, 0}});
  const auto at = [&](ValueId v, ValueId idx) {
    return b.emit(Op::take, {v, idx}, {{Key::axis, 0}, {Key::mode, "clip"}});
  };
  if (b.failed()) return;
  const RunningAxis axis{0, b.dims(order)[0], false};
  const ValueId place = at(places, order), u = at(flat(b, c.x[2]), order);
  const ValueId target = b.emit(Op::sub, {place, b.scalar_int(DType::I64, 1)});
  const ValueId starts = b.emit(Op::ne, {place, shift(b, axis, place, 1, -1)});
  if (b.failed()) return;
  const ValueId zero = b.scalar(b.dtype(u), 0);
  const ValueId factor = b.emit(Op::select, {starts, zero, u});
  const auto running = [&](ValueId first, ValueId rest) {
    return recurrence(b, axis, factor, b.emit(Op::select, {starts, first, rest}), Op::zmul);
  };
  const ValueId x0 = at(flat(b, c.x[0]), target), t0 = at(flat(b, c.tangent(0)), target);
  const ValueId p = running(b.emit(Op::mul, {x0, u}), zero);
  const ValueId before = b.emit(Op::select, {starts, x0, shift(b, axis, p, 1, 0)});
  const ValueId own = b.emit(Op::zmul, {before, at(flat(b, c.tangent(2)), order)});
  const ValueId dp = running(b.emit(Op::add, {b.emit(Op::zmul, {u, t0}), own}), own);
  // The last of each sequence wins; place 0 is none and is dropped.
  const ValueId all =
      b.emit(Op::scatter_along, {flat(b, c.tangent(0)), target, dp}, {{Key::axis, 0}, {Key::mode, "fill"}});
  c.dy[0] = b.emit(Op::reshape, {all}, {{Key::shape, up.x}});
}

bool is_empty(Dims d) { return std::ranges::find(d, 0) != d.end(); }

}  // namespace

// scatter, scatter_along.
void jvp_scatter(JvpCtx& c) {
  if (c.b.failed()) return;
  const Update up{c.b, c.in, c.x[1], c.b.dims(c.x[0]), c.b.dims(c.x[2])};
  const std::string_view combine = up.combine();
  if (is_empty(up.x) || is_empty(up.u) || (combine == "add" && !c.active(2))) {
    c.dy[0] = c.t[0];
    return;
  }
  if (combine == "mul") return jvp_scatter_mul(c, up);
  if (combine == "min" || combine == "max") return jvp_scatter_extremum(c, up);
  c.dy[0] = up.write(c.tangent(0), c.tangent(2), combine);
}

}  // namespace tfvm
