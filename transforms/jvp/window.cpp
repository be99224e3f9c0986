// Windows: sums are linear; extremes and products are differentiated as reductions of their elements, laid out.
#include "transforms/window.h"

#include "transforms/jvp/products.h"
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

// The elements that windows hold, as [places…, elements of a window].
struct Patches {
  Builder& b;
  ValueId places;  // numbers of elements, -1 for none

  Patches(JvpCtx& c, const Windows& w) : b(c.b), places(window_places(b, w, b.dims(c.x[0]), b.dims(c.y[0]))) {}
  ValueId of(ValueId x, std::string_view mode) const {
    const std::int64_t all[] = {-1};
    const ValueId flat = b.emit(Op::reshape, {x}, {{Key::shape, Ints(all)}});
    return b.emit(Op::take, {flat, places}, {{Key::axis, 0}, {Key::mode, mode}});
  }
  ValueId of(ValueId x, double elsewhere) const {
    if (b.failed()) return kNoValue;
    const ValueId real = b.emit(Op::ge, {places, b.scalar_int(DType::I64, 0)});
    return b.emit(Op::select, {real, of(x, "clip"), b.scalar(b.dtype(x), elsewhere)});
  }
  ValueId sum(ValueId v) const {
    const std::int64_t last[] = {-1};
    return b.emit(Op::reduce_sum, {v}, {{Key::axes, Ints(last)}});
  }
};

// The elements that equal the window's extreme share its tangent equally. Padding reads NaN, which equals nothing.
ValueId extremum_tangent(JvpCtx& c, const Patches& p) {
  Builder& b = c.b;
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> column(b.dims(c.y[0]).begin(), b.dims(c.y[0]).end());
  column.push_back(1);
  const ValueId y = b.emit(Op::reshape, {c.y[0]}, {{Key::shape, Ints(column)}});
  const ValueId same = b.emit(Op::eq, {p.of(c.x[0], "fill"), y});
  const ValueId hit = b.emit(Op::cast, {same}, {{Key::dtype, b.dtype(c.x[0])}});
  const ValueId sum = p.sum(b.emit(Op::zmul, {hit, p.of(c.t[0], "clip")}));
  return b.emit(Op::zmul, {b.emit(Op::reciprocal, {p.sum(hit)}), sum});
}

}  // namespace

void jvp_reduce_window(JvpCtx& c) {
  Builder& b = c.b;
  AttrTable& at = c.tables().attrs;
  if (b.failed()) return;
  if (at[at.get(c.in.attrs, Key::op)].kind != AttrKind::Str) {
    b.fail(Code::Unsupported, "[jvp] reduce_window has no derivative rule (" + std::string(info(c.in.op).hole) + ")");
    return;
  }
  const std::string_view op = at.get_str(c.in.attrs, Key::op);
  if (op == "add") {
    c.dy[0] = b.emit(Op::reduce_window, std::vector{c.t[0]}, c.in.attrs);
    return;
  }
  const Patches p(c, windows_of(at, c.in.attrs, b.dims(c.x[0]).size()));
  c.dy[0] = op == "mul" ? product_tangent(b, p.of(c.x[0], 1), p.of(c.t[0], 0)) : extremum_tangent(c, p);
}

// Linear in the source; which elements are chosen has no derivative.
void jvp_select_and_scatter_add(JvpCtx& c) {
  if (c.active(1)) c.dy[0] = c.b.emit(Op::select_and_scatter_add, std::vector{c.x[0], c.t[1]}, c.in.attrs);
}

}  // namespace tfvm
