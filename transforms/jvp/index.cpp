// Lookups and updates at computed places: linear in the values, the places have no tangent.
#include "transforms/index_places.h"
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

void jvp_scatter_along(JvpCtx& c) {
  const std::string_view combine = c.attrs().get_str(c.in.attrs, Key::combine);
  if (combine != "set" && combine != "add") {
    c.b.fail(Code::Unsupported, "[jvp] scatter_along {combine=\"" + std::string(combine) +
                                    "\"} has no derivative rule (" + std::string(info(c.in.op).hole) + ")");
    return;
  }
  if (combine == "add" && !c.active(2)) {
    c.dy[0] = c.t[0];
    return;
  }
  c.dy[0] = c.b.emit(c.in.op, std::vector{c.tangent(0), c.x[1], c.tangent(2)}, c.in.attrs);
}

}  // namespace tfvm
